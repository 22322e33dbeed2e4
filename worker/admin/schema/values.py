"""Recognize what a single value, or a field's name, looks like."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from driftway.worker.wire.json_tokens.exact import Number
from driftway.worker.wire.json_tokens.text_values import NUMBER
from driftway.worker.wire.schema.cell_table import LARGEST_EXACT

WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
"""Splits names into words: created_at, createdAt and CREATED-AT have the same two."""
TIME_WORDS = {
    "at", "created", "date", "datetime", "dt", "end", "epoch", "modified", "start", "time", "timestamp", "ts", "tstamp",
    "updated", "utc", "when",
}  # fmt: skip
ID_WORDS = {"id", "uuid", "guid"}
CALENDAR_DIGITS = 12
"""Of 202611241230. Those of a date alone, or with seconds, are no time in any unit."""
ISO = re.compile(r"\d{4}-\d\d-\d\d(?P<clock>[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)
"""Times as `driftway.worker.wire.schema.conversion.times` reads them."""
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
OTHER_DATE = re.compile(
    r"\d{1,4}([./-])\d\d?\1\d{2,4}([ T]\d\d?:\d\d.*)?"
    rf"|([a-z]{{3,9}},? )?(\d\d?[ ./-]{MONTH}[ ,./-]+\d{{2,4}}|{MONTH} +\d\d?,? (\d\d?:\d\d.* )?\d{{4}})\b.*",
    re.ASCII | re.IGNORECASE,
)
"""Dates as people write them, 24.11.2026 or Nov 24 2026 14:30, of which no feature is made: which part is the day?"""
IN_DIGITS = {8: "%Y%m%d", CALENDAR_DIGITS: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""Length -> form of 20261124 and the like."""
WITH_UNIT = re.compile(
    r"[+-]?[$€£¥]\s?[\d.,]*\d|[+-]?(\d+\.\d+|\d{1,3}(,\d{3})+(\.\d+)?)\s?[^\s\d.,:/-]{0,5}|\d+\s?[%€$£¥°]C?"
)
"""Such as 12.5 kW, $1,846.00 and 40 %; whole numbers with letters, such as 5a, may be names."""
EARLIEST, LATEST = 946_684_800.0, 4_102_444_800.0
"""The years 2000 and 2100 in s since 1970; a number between them may be a time."""
DATE_WORDS = {"birth", "birthdate", "birthday", "born", "date", "dob"}
EARLIEST_DATE, YEAR = -2_208_988_800.0, 31_536_000.0
"""The year 1900 in s since 1970; a number under a name of DATE_WORDS may be a time from then on, also one in days."""
LATEST_DAYS = 36_524
"""The year 2070. Days from then on are counted from 1900, as spreadsheets do: there they are days of 2000 or later."""
CODE = re.compile(r"0\d+", re.ASCII)
"""A postal code, say: a number has no leading zero."""
UNITS = {"days": 1 / 86_400, "s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Unit -> how many of it a second has, the longest unit first."""


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
    return words == ["t"] or not (TIME_WORDS | DATE_WORDS).isdisjoint(words)


def is_date_name(name: str) -> bool:
    """Whether a number with this name may be a date: ``birthdate``, ``date_of_birth``, ``orderDate``."""
    return not DATE_WORDS.isdisjoint(words_of(name))


def number_in(text: str) -> float | None:
    """Parse text as a finite number; None if it is not one, or a code."""
    stripped = text.strip()
    if not NUMBER.fullmatch(stripped) or is_code(stripped):
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def is_code(text: str) -> bool:
    """Whether a text is digits with a leading zero."""
    return CODE.fullmatch(text) is not None


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


def is_other_date(text: str) -> bool:
    """Whether a text looks like a date that is not ISO 8601."""
    return OTHER_DATE.fullmatch(text.strip()) is not None and time_in(text) is None


def is_date_in_digits(text: str) -> bool:
    """Whether a text is digits that are a date from EARLIEST to LATEST: 20261124, perhaps with a time of day."""
    try:
        time = datetime.strptime(text, IN_DIGITS.get(len(text), "")).replace(tzinfo=UTC)
    except ValueError:
        return False
    return EARLIEST <= time.timestamp() < LATEST


def has_unit(text: str) -> bool:
    """Whether a text looks like a number with a unit, a currency or a sign that JSON does not have."""
    return WITH_UNIT.fullmatch(text.strip()) is not None


def is_json(text: str) -> bool:
    """Whether a text looks like a JSON object."""
    return text[:1] == "{" and text[-1:] == "}"


def unit_of(low: float, high: float, date: bool = False) -> str:
    """The longest unit in which numbers from `low` to `high` are times from EARLIEST to LATEST; empty: in none.

    Dates, with `date`, are times from EARLIEST_DATE on that are a year away from 1970 somewhere, so that small numbers
    are none.
    """
    if is_calendar(low) and is_calendar(high):
        return ""
    for unit, per_second in UNITS.items():
        if unit == "days" and high >= LATEST_DAYS:
            continue
        first, last = low / per_second, high / per_second
        if date and first >= EARLIEST_DATE and last < LATEST and max(-first, last) >= YEAR:
            return unit
        if unit != "days" and first >= EARLIEST and last < LATEST:
            return unit
    return ""


def is_calendar(number: float) -> bool:
    """Whether the digits of a number are a date and a time of day, as in 202611241230, and not a count of some unit."""
    try:
        datetime.strptime(f"{number:.0f}", "%Y%m%d%H%M")  # noqa: DTZ007 - the zone does not matter
    except ValueError:
        return False
    return len(f"{number:.0f}") == CALENDAR_DIGITS


def word_of(number: float) -> str:
    """Format a number as a category or label."""
    if isinstance(number, Number) and abs(number) >= LARGEST_EXACT:
        return repr(number)
    return str(int(number)) if isinstance(number, int) or number.is_integer() else repr(float(number))
