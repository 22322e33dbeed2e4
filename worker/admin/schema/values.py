"""What a single value, or a field's name, looks like."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from driftway.worker.wire.events import NUMBER
from driftway.worker.wire.schema.times import LATEST_MICROS, LATEST_MILLIS, LATEST_SECONDS

WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
"""Of names: created_at, createdAt and CREATED-AT have the same two."""
TIME_WORDS = {"at", "date", "datetime", "time", "timestamp", "ts", "when"}
ID_WORDS = {"id", "uuid", "guid"}
LABELS = ("y", "label", "target", "class")
"""What a label is called, the likeliest first."""
ISO = re.compile(r"\d{4}-\d\d-\d\d(?P<clock>[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)
"""As `driftway.worker.wire.schema.times` reads it."""
EARLIEST, LATEST = 946_684_800.0, 4_102_444_800.0
"""The years 2000 and 2100: between them a number may be a time, in s since 1970."""
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def words_of(name: str) -> list[str]:
    """The words of a field's name, in lower case."""
    return [word.lower() for word in WORDS.findall(name)]


def id_rank(name: str) -> int | None:
    """How likely a name is that of an id: 0 ``id``, 1 ``uuid``, ``guid`` and ``key``, 2 ``*_id``; None: it is none."""
    words = words_of(name)
    if words == ["id"]:
        return 0
    if words == ["key"] or (len(words) == 1 and words[0] in ID_WORDS):
        return 1
    return 2 if words and words[-1] in ID_WORDS else None


def is_time_name(name: str) -> bool:
    """Whether a number under this name may be a time: ``t``, ``ts_ms``, ``created_at``, ``eventTime``."""
    words = words_of(name)
    return words == ["t"] or not TIME_WORDS.isdisjoint(words)


def number_in(text: str) -> float | None:
    """The finite number that a text is, or None."""
    stripped = text.strip()
    if not NUMBER.fullmatch(stripped):
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def time_in(text: str) -> tuple[float, bool] | None:
    """Seconds since 1970 of an ISO 8601 text, and whether it has a time of day; None: it is none."""
    found = ISO.fullmatch(text)
    if found is None:
        return None
    try:
        time = datetime.fromisoformat(text.upper())
    except ValueError:  # 2026-13-45
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp(), found["clock"] is not None


def unit_of(low: float, high: float) -> str | None:
    """The unit of a field whose numbers go from `low` to `high`, if they are times since 1970; None: they are none."""
    limits = {"s": LATEST_SECONDS, "ms": LATEST_MILLIS, "us": LATEST_MICROS, "ns": math.inf}
    unit = next(name for name, limit in limits.items() if abs(low) < limit)
    return unit if low / UNITS[unit] >= EARLIEST and high / UNITS[unit] < LATEST else None


def word_of(number: float) -> str:
    """A number as a category or label is written."""
    return str(int(number)) if isinstance(number, int) or number.is_integer() else repr(number)
