"""Values of types that JSON does not have, as text or numbers."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

from driftway.worker.wire.json_tokens.exact import number_of

MILLIS, MICROS, NANOS = 10**3, 10**6, 10**9
"""Ticks per second."""
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - `zone` says whether a time counted from it is in UTC
EPOCH_DAY = EPOCH.toordinal()
ALWAYS_EXACT = 10**15
"""Decimals of up to 15 digits are the shortest text of their float64."""


def instant(ticks: int, unit: int, zone: str = "Z") -> str | int:
    """Return a point in time as exact ISO 8601 text; outside the years 1 to 9999 the number itself.

    Parameters
    ----------
    ticks : int
        Since 1970.
    unit : int
        Ticks per second.
    zone : str
        ``Z``, or empty for a local time.
    """
    micros, rest = divmod(ticks * (NANOS // unit), NANOS // MICROS)
    try:
        moment = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return ticks
    text = moment.isoformat(timespec="microseconds") + f"{rest:03}" if rest else moment.isoformat()
    return text + zone


def day(days: int) -> str | int:
    """Return a day counted from 1970-01-01 as ISO 8601 text; outside the years 1 to 9999 the number itself."""
    try:
        return date.fromordinal(EPOCH_DAY + days).isoformat()
    except (ValueError, OverflowError):
        return days


def decimal(unscaled: bytes, scale: int) -> float:
    """Return the float64 nearest to unscaled / 10^scale; `unscaled` is in big-endian two's complement.

    If its shortest text is not that decimal, it comes with the decimal's digits, so that ids stay apart. It is parsed
    from text, which is exact, and quick for any scale: an event's own scale may be two billion.

    Raises
    ------
    ValueError
        It has more digits than Python parses.
    """
    whole = int.from_bytes(unscaled, "big", signed=True)
    text = f"{whole}e{-scale}"
    return float(text) if abs(whole) < ALWAYS_EXACT else number_of(Decimal(text))
