"""Points in time and their parts, compared with the standard library's."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from driftway.worker.wire.columns import SPARE
from driftway.worker.wire.scanner import NO_TIME
from driftway.worker.wire.schema import times
from driftway.worker.wire.schema.times import NOT_A_TIME
from tests.unit.worker.rows import STAMP
from tests.unit.worker.wire.schema.reading import decoded, row, schema_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FAST = settings(max_examples=500, deadline=None)
OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59)
MOMENTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))  # noqa: DTZ001 - so that no offset leaves the calendar


def of_text(text: str) -> int:
    raw = np.frombuffer(text.encode() + b'"' + bytes(SPARE), np.uint8)
    return int(times.of_text(raw, 0, len(text.encode())))


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


@FAST
@given(MOMENTS, OFFSETS, st.sampled_from(["T", "t", " "]))
@example(datetime(2000, 2, 29, 23, 59, 59, 999999), 90, "T")  # noqa: DTZ001
@example(datetime(1900, 2, 28), -90, "T")  # noqa: DTZ001
@example(datetime(1969, 12, 31, 23, 59, 59, 999999), 0, "T")  # noqa: DTZ001
def test_times_in_text_are_those_of_datetime(moment: datetime, offset: int, between: str) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    expected, written = micros(aware), aware.isoformat(between)
    assert of_text(written) == expected
    assert of_text(written[:-3] + written[-2:]) == expected  # +0130
    assert of_text(written.replace(".", ",")) == expected
    utc = aware.astimezone(UTC)
    for ending in ("Z", "z", "", "+00:00", "-00", "+0000"):
        assert of_text(utc.replace(tzinfo=None).isoformat() + ending) == expected
    whole = utc.replace(microsecond=0)
    assert of_text(whole.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) + ".1234567899Z") == micros(whole) + 123456
    assert of_text(utc.date().isoformat()) == micros(utc.replace(hour=0, minute=0, second=0, microsecond=0))
    assert of_text(utc.isoformat("T", "minutes")) == micros(utc.replace(second=0, microsecond=0))


def test_every_day_of_the_calendar() -> None:
    day, count = datetime(1, 1, 1, tzinfo=UTC), 0
    texts, expected = [], []
    while day.year < 2500:
        texts.append(day.date().isoformat())
        expected.append(micros(day))
        day, count = day + timedelta(days=1), count + 1
    assert [of_text(text) for text in texts] == expected


@pytest.mark.parametrize(
    "text",
    ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-04-31", "0000-01-01", "2026-1-1",
     "2026-11-24T", "2026-11-24T12", "2026-11-24T24:00", "2026-11-24T12:60", "2026-11-24T12:30:61", "2026-11-24T12:30:",
     "2026-11-24T12:30:05.", "2026-11-24T12:30:05.Z", "2026-11-24T12:30:05+", "2026-11-24T12:30:05+1",
     "2026-11-24T12:30:05+24:00", "2026-11-24T12:30:05+01:60", "2026-11-24T12:30:05+01:0", "2026-11-24T12:30:05Z ",
     "2026-11-24T12:30:05ZZ", "2026-11-24X12:30:05", " 2026-11-24", "2026/11/24", "2026-11-24 ", "24.11.2026", "", "-",
     "soon", "1.", ".5", "1e9", "+1700000000", "0x10", "12345678901234567890", "2026-11-2\u0664", "NaN", "1_000",
     "2026-11-24T12:30:05 +01:00", "2026-11-24T1\u0662:30"],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    assert of_text(text) == NOT_A_TIME


@pytest.mark.parametrize(
    ("number", "us"),
    [
        (0, 0),
        (-1, -1_000_000),
        (1_700_000_000, 1_700_000_000_000_000),
        (1_700_000_000.123456, 1_700_000_000_123_456),
        (1_700_000_000_123, 1_700_000_000_123_000),
        (1_700_000_000_123_456, 1_700_000_000_123_456),
        (1_700_000_000_123_456_789, 1_700_000_000_123_456),
        (99_999_999_999, 99_999_999_999_000_000),
        (100_000_000_000, 100_000_000_000_000),
        (-1_700_000_000_123, -1_700_000_000_123_000),
        (1e19, NOT_A_TIME),
        (-1e19, NOT_A_TIME),
        (math.inf, NOT_A_TIME),
    ],
)
def test_the_size_of_a_number_tells_its_unit(number: float, us: int) -> None:
    assert abs(int(times.of_number(float(number))) - us) <= (0 if us == NOT_A_TIME or abs(number) < 1e17 else 1)
    if isinstance(number, int) and number < 10**18:
        assert of_text(str(number)) == int(times.of_number(float(number)))
    if isinstance(number, float) and math.isfinite(number) and abs(number) < 1e18:
        assert abs(of_text(repr(number)) - us) <= 1


@FAST
@given(MOMENTS)
@example(datetime(1970, 1, 1))  # noqa: DTZ001
@example(datetime(1969, 12, 31, 23, 59, 59, 999999))  # noqa: DTZ001
@example(datetime(2000, 2, 29))  # noqa: DTZ001
def test_parts_are_those_of_datetime(moment: datetime) -> None:
    at, parts = np.array([micros(moment.replace(tzinfo=UTC))]), {}
    for part, write in times.WRITERS.items():
        X = np.full((1, 2), -1.0)
        write(at, X, 0)
        parts[part] = X[0].tolist()
    hours = (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)) / timedelta(hours=1)
    assert parts["hour"] == [pytest.approx(hours, abs=1e-9), -1]
    assert 0 <= parts["hour"][0] < 24
    assert parts["weekday"] == [moment.weekday(), -1]
    assert parts["day"] == [moment.day, -1]
    assert parts["month"] == [moment.month, -1]
    assert parts["seconds"] == [at[0] / 1e6, -1]
    for name, share in (("hour-circle", hours / 24), ("weekday-circle", moment.weekday() / 7)):
        angle = 2 * math.pi * share
        assert parts[name] == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-9)


def test_no_time_has_no_parts() -> None:
    at = np.array([NOT_A_TIME])
    for write in times.WRITERS.values():
        X = np.zeros((1, 2))
        write(at, X, 0)
        assert np.isnan(X[0, 0])
    X = np.zeros((1, 1))
    times.write_age(at, np.zeros(1, np.int64), X, 0)
    assert np.isnan(X).all()


def test_age_is_counted_from_the_event_and_else_from_its_record() -> None:
    schema = schema_of("made:time=age", time="at")
    assert row([b'{"made":"2026-11-24T12:00:00Z","at":"2026-11-24T12:00:30.5Z"}'], schema)[0] == [30.5]
    assert row([b'{"made":1699999990}'], schema)[0] == [10.0]
    assert row([b'{"made":1699999990,"at":"soon"}'], schema)[::3] == ([10.0], NO_TIME)
    assert STAMP == 1_700_000_000_000


def test_the_time_of_an_event_is_in_milliseconds() -> None:
    schema = schema_of("a", time="at")
    texts = ['"2026-11-24T12:30:05.250999Z"', "1700000000", "1700000000123", "-0.0005", '"1969-12-31T23:59:59.9995Z"',
             "null", '"soon"', "true", "[1]", "1e30"]  # fmt: skip
    batch = decoded([f'{{"a":1,"at":{text}}}'.encode() for text in texts], schema)
    moment = micros(datetime(2026, 11, 24, 12, 30, 5, 250999, tzinfo=UTC)) // 1000
    assert batch.t.tolist() == [moment, 1_700_000_000_000, 1_700_000_000_123, -1, -1, *[NO_TIME] * 5]
    assert batch.rejected == []
