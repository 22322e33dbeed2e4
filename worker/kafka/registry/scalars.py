"""Values that JSON has no kind of, as the text or the number that stands for them."""

from __future__ import annotations

from datetime import date, datetime, timedelta

MILLIS, MICROS, NANOS = 10**3, 10**6, 10**9
"""Ticks in a second."""
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - what is counted from it says itself whether it is in UTC
EPOCH_DAY = EPOCH.toordinal()


def instant(ticks: int, unit: int, zone: str = "Z") -> str | int:
    """ISO 8601 of a point in time, exact; beyond the years 1 to 9999 the number that it is.

    Parameters
    ----------
    ticks : int
        Since 1970.
    unit : int
        Ticks in a second.
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
    """ISO 8601 of a day, counted from 1970-01-01; beyond the years 1 to 9999 the number that it is."""
    try:
        return date.fromordinal(EPOCH_DAY + days).isoformat()
    except (ValueError, OverflowError):
        return days


def decimal(unscaled: bytes, scale: int) -> float:
    """The float64 nearest to unscaled / 10^scale; `unscaled` is a big-endian two's complement.

    By way of text, which is exact, and quick for any scale: an event's own scale may be two thousand million.

    Raises
    ------
    ValueError
        More digits than Python reads.
    """
    return float(f"{int.from_bytes(unscaled, 'big', signed=True)}e{-scale}")
