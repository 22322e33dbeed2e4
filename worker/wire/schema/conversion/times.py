"""Read times from numbers and ISO 8601, and write the parts of them that are features, in UTC."""

from __future__ import annotations

import math

import numpy as np

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.numeric.elementary.trigonometric import cos, sin
from driftway.worker.wire.columns import Floats, Integers, Text
from driftway.worker.wire.schema import feature
from driftway.worker.wire.schema.cell_table import NUMBER, TEXT, CellTable

NOT_A_TIME, NO_UNIT = np.iinfo(np.int64).min, np.iinfo(np.int64).min + 1
"""No time, or a number whose unit the schema does not say."""
MILLISECOND, SECOND, MINUTE, HOUR, DAY = 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
"""In us."""
BY_SIZE, UNKNOWN, NANO = 0.0, -1.0, 1e-3
MICROS_IN = {"": UNKNOWN, feature.BY_SIZE: BY_SIZE, "s": 1e6, "ms": 1e3, "us": 1.0, "ns": NANO, "days": 86_400e6}
"""Unit -> how many us it has."""
EARLIEST, LATEST = -62_135_596_800e6, 253_402_300_800e6
"""The years 1 to 9999, in us since 1970."""
LATEST_SECONDS, LATEST_MILLIS, LATEST_MICROS, LATEST_NANOS = 1e11, 1e14, 1e17, 9.2e18
"""Limits below which a number counts seconds, ms, us or ns, BY_SIZE: until the year 5138; in ms not before 1973."""
MAX_DIGITS = 19
"""Of whole numbers in text: as many as nanoseconds have."""
MINUS, PLUS, POINT, COLON, COMMA, SPACE = 45, 43, 46, 58, 44, 32
UPPER_T, LOWER_T, UPPER_Z, LOWER_Z, ZERO = 84, 116, 90, 122, 48
MONTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


@kernel
def read_times(cells: CellTable, field: int, text: Text, unit: float, times: Integers) -> None:
    """Read a field's cells as us since 1970, NOT_A_TIME or NO_UNIT where they are no time. Shapes: times i8[n].

    `unit`: how many us a number counts, BY_SIZE or UNKNOWN.
    """
    for i in range(times.shape[0]):
        kind = cells.kind[i, field]
        times[i] = NOT_A_TIME
        if kind == NUMBER:
            times[i] = of_number(cells.number[i, field], unit)
        elif kind == TEXT:
            times[i] = of_text(text, cells.start[i, field], cells.end[i, field], unit)


@kernel
def to_millis(times: Integers) -> None:
    """Convert us to ms in place; NOT_A_TIME stays and equals the NO_TIME of events. Shapes: times i8[n]."""
    for i in range(times.shape[0]):
        if times[i] != NOT_A_TIME:
            times[i] = times[i] // MILLISECOND


@fragment
def of_number(value: float, unit: float) -> int:
    """Return us since 1970 of a number of a unit, in the years 1 to 9999."""
    if unit == UNKNOWN:
        return NO_UNIT
    if unit != BY_SIZE:
        micros = value / 1e3 if unit == NANO else value * unit  # 1e-3 is not exact
        return math.floor(micros + 0.5) if EARLIEST <= micros < LATEST else NOT_A_TIME
    size = abs(value)
    if size < LATEST_SECONDS:
        return math.floor(value * 1e6 + 0.5)
    if size < LATEST_MILLIS:
        return math.floor(value * 1e3 + 0.5)
    if size < LATEST_MICROS:
        return math.floor(value + 0.5)
    if size < LATEST_NANOS:
        return math.floor(value / 1e3 + 0.5)
    return NOT_A_TIME


@kernel
def of_text(text: Text, p: int, end: int, unit: float) -> int:
    """Return us since 1970 of ``2026-11-24``, ``..T12:30`` or ``..T12:30:05.25`` (``Z``, ``+01:00``), or of digits."""
    if end - p < 10 or text[p + 4] != MINUS or text[p + 7] != MINUS:
        return of_digits(text, p, end, unit)
    year, month, day = digits(text, p, 4), digits(text, p + 5, 2), digits(text, p + 8, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > days_in(year, month):
        return NOT_A_TIME
    time = days_since_1970(year, month, day) * DAY
    p += 10
    if p == end:
        return time
    if (text[p] != UPPER_T and text[p] != LOWER_T and text[p] != SPACE) or end - p < 6 or text[p + 3] != COLON:
        return NOT_A_TIME
    hour, minute = digits(text, p + 1, 2), digits(text, p + 4, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return NOT_A_TIME
    time += hour * HOUR + minute * MINUTE
    p += 6
    if end - p >= 3 and text[p] == COLON:
        second = digits(text, p + 1, 2)
        if second < 0 or second > 60:  # 60: a leap second
            return NOT_A_TIME
        time += second * SECOND
        p += 3
        if end - p >= 2 and (text[p] == POINT or text[p] == COMMA):
            p += 1
            unit, first = SECOND // 10, p
            while p < end and 0 <= int(text[p]) - ZERO <= 9:
                time += (int(text[p]) - ZERO) * unit
                unit //= 10
                p += 1
            if p == first:
                return NOT_A_TIME
    if p < end and (text[p] == UPPER_Z or text[p] == LOWER_Z):
        return time if p + 1 == end else NOT_A_TIME
    if p == end:
        return time
    ahead = zone(text, p, end)
    return time - ahead if ahead != NOT_A_TIME else NOT_A_TIME


@fragment
def zone(text: Text, p: int, end: int) -> int:
    """Return how far ``+01:00``, ``+0100`` or ``+01`` is ahead of UTC, in us."""
    if text[p] != PLUS and text[p] != MINUS:
        return NOT_A_TIME
    hours, minutes = digits(text, p + 1, 2) if end - p >= 3 else -1, 0
    if end - p == 6 and text[p + 3] == COLON:
        minutes = digits(text, p + 4, 2)
    elif end - p == 5:
        minutes = digits(text, p + 3, 2)
    elif end - p != 3:
        return NOT_A_TIME
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return NOT_A_TIME
    ahead = hours * HOUR + minutes * MINUTE
    return ahead if text[p] == PLUS else -ahead


@fragment
def of_digits(text: Text, p: int, end: int, unit: float) -> int:
    """Return us since 1970 of a whole or decimal number in text, as in `of_number`."""
    negative = end > p and text[p] == MINUS
    first = p + 1 if negative else p
    value, q, share = np.uint64(0), first, 1.0
    while q < end and q - first < MAX_DIGITS and 0 <= int(text[q]) - ZERO <= 9:
        value = value * np.uint64(10) + np.uint64(int(text[q]) - ZERO)
        q += 1
    exact = float(value)
    if q == first:
        return NOT_A_TIME
    if q < end and text[q] == POINT and q + 1 < end:
        q += 1
        while q < end and 0 <= int(text[q]) - ZERO <= 9:
            share /= 10.0
            exact += (int(text[q]) - ZERO) * share
            q += 1
    return of_number(-exact if negative else exact, unit) if q == end else NOT_A_TIME


@fragment
def digits(text: Text, p: int, count: int) -> int:
    """Return the value of `count` digits, or -1."""
    value = 0
    for k in range(count):
        digit = int(text[p + k]) - ZERO
        if digit < 0 or digit > 9:
            return -1
        value = 10 * value + digit
    return value


@fragment
def is_leap(year: int) -> bool:
    """Whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@fragment
def days_in(year: int, month: int) -> int:
    """Days of a month, counted from 1."""
    return 29 if month == 2 and is_leap(year) else int(MONTHS[month - 1])


@fragment
def days_since_1970(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01. Source: Hinnant, chrono-Compatible Low-Level Date Algorithms, days_from_civil."""
    y = year - 1 if month <= 2 else year
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@fragment
def day_and_month(days: int) -> tuple[int, int]:
    """Day and month, each from 1, of days since 1970. Source: Hinnant, civil_from_days."""
    z = days + 719468
    of_era = z - (z // 146097) * 146097
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    m = (5 * of_year + 2) // 153
    return of_year - (153 * m + 2) // 5 + 1, m + 3 if m < 10 else m - 9


@kernel
def write_hour(times: Integers, X: Floats, column: int) -> None:
    """Write hours since midnight, 0 <= hour < 24. Shapes: times i8[n], X f8[n, columns]; NaN for NOT_A_TIME."""
    for i in range(times.shape[0]):
        X[i, column] = hour_of(times[i])


@kernel
def write_hour_circle(times: Integers, X: Floats, column: int) -> None:
    """Write sine and cosine of the hour's angle on a dial of 24 hours."""
    for i in range(times.shape[0]):
        on_circle(hour_of(times[i]) / 24.0, X, i, column)


@kernel
def write_weekday(times: Integers, X: Floats, column: int) -> None:
    """Write the weekday, 0 for Monday to 6 for Sunday."""
    for i in range(times.shape[0]):
        X[i, column] = weekday_of(times[i])


@kernel
def write_weekday_circle(times: Integers, X: Floats, column: int) -> None:
    """Write sine and cosine of the weekday's angle on a dial of 7 days."""
    for i in range(times.shape[0]):
        on_circle(weekday_of(times[i]) / 7.0, X, i, column)


@kernel
def write_day(times: Integers, X: Floats, column: int) -> None:
    """Write the day of the month, 1 to 31."""
    for i in range(times.shape[0]):
        day, _ = day_and_month(times[i] // DAY)
        X[i, column] = math.nan if times[i] == NOT_A_TIME else float(day)


@kernel
def write_month(times: Integers, X: Floats, column: int) -> None:
    """Write the month, 1 to 12."""
    for i in range(times.shape[0]):
        _, month = day_and_month(times[i] // DAY)
        X[i, column] = math.nan if times[i] == NOT_A_TIME else float(month)


@kernel
def write_seconds(times: Integers, X: Floats, column: int) -> None:
    """Write seconds since 1970."""
    for i in range(times.shape[0]):
        X[i, column] = math.nan if times[i] == NOT_A_TIME else times[i] / 1e6


@kernel
def write_age(times: Integers, now: Integers, X: Floats, column: int) -> None:
    """Write seconds from the time to `now`, i8[n] in us; NaN where either is NOT_A_TIME."""
    for i in range(times.shape[0]):
        unknown = times[i] == NOT_A_TIME or now[i] == NOT_A_TIME
        X[i, column] = math.nan if unknown else (float(now[i]) - float(times[i])) / 1e6


@fragment
def hour_of(time: int) -> float:
    """Hours since midnight, or NaN."""
    return math.nan if time == NOT_A_TIME else (time % DAY) / 3.6e9


@fragment
def weekday_of(time: int) -> float:
    """Days since Monday, or NaN. 1970 began on a Thursday."""
    return math.nan if time == NOT_A_TIME else float((time // DAY + 3) % 7)


@fragment
def on_circle(share: float, X: Floats, i: int, column: int) -> None:
    """Write sine and cosine of a share of a full turn."""
    angle = 2.0 * math.pi * share
    X[i, column] = sin(angle)
    X[i, column + 1] = cos(angle)


WRITERS = {
    feature.HOUR: write_hour,
    feature.WEEKDAY: write_weekday,
    feature.DAY: write_day,
    feature.MONTH: write_month,
    feature.SECONDS: write_seconds,
    feature.HOUR_CIRCLE: write_hour_circle,
    feature.WEEKDAY_CIRCLE: write_weekday_circle,
}
"""Part -> the kernel that writes its columns; AGE is not here, since `write_age` also needs the event's time."""
