"""Recognize what a single value, or a field's name, looks like."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from driftway.worker.wire.events import NUMBER
from driftway.worker.wire.schema.times import LATEST_MICROS, LATEST_MILLIS, LATEST_SECONDS

WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
"""Splits names into words: created_at, createdAt and CREATED-AT have the same two."""
TIME_WORDS = {"at", "date", "datetime", "time", "timestamp", "ts", "when"}
ID_WORDS = {"id", "uuid", "guid"}
LABELS = ("y", "label", "target", "class")
"""Names of a label, the likeliest first."""
ISO = re.compile(r"\d{4}-\d\d-\d\d(?P<clock>[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)
"""Times as `driftway.worker.wire.schema.times` reads them."""
EARLIEST, LATEST = 946_684_800.0, 4_102_444_800.0
"""The years 2000 and 2100 in s since 1970; a number between them may be a time."""
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def words_of(name: str) -> list[str]:
    """The words of a field's name, in lower case."""
    return [word.lower() for word in WORDS.findall(name)]


def id_rank(name: str) -> int | None:
    """Rank of a name as that of an id: 0 ``id``, 1 ``uuid``, ``guid`` and ``key``, 2 ``*_id``; None for other names."""
    words = words_of(name)
    if words == ["id"]:
        return 0
    if words == ["key"] or (len(words) == 1 and words[0] in ID_WORDS):
        return 1
    return 2 if words and words[-1] in ID_WORDS else None


def is_time_name(name: str) -> bool:
    """Whether a number with this name may be a time: ``t``, ``ts_ms``, ``created_at``, ``eventTime``."""
    words = words_of(name)
    return words == ["t"] or not TIME_WORDS.isdisjoint(words)


def number_in(text: str) -> float | None:
    """Parse text as a finite number; None if it is not one."""
    stripped = text.strip()
    if not NUMBER.fullmatch(stripped):
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def time_in(text: str) -> tuple[float, bool] | None:
    """Parse ISO 8601 text: seconds since 1970, and whether it has a time of day; None if it is no time."""
    found = ISO.fullmatch(text)
    if found is None:
        return None
    try:
        time = datetime.fromisoformat(text.upper())
    except ValueError:  # 2026-13-45
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp(), found["clock"] is not None


def unit_of(low: float, high: float) -> str | None:
    """The unit of a field whose numbers range from `low` to `high`, if they are times since 1970; otherwise None."""
    limits = {"s": LATEST_SECONDS, "ms": LATEST_MILLIS, "us": LATEST_MICROS, "ns": math.inf}
    unit = next(name for name, limit in limits.items() if abs(low) < limit)
    return unit if low / UNITS[unit] >= EARLIEST and high / UNITS[unit] < LATEST else None


def word_of(number: float) -> str:
    """Format a number as a category or label."""
    return str(int(number)) if isinstance(number, int) or number.is_integer() else repr(number)
