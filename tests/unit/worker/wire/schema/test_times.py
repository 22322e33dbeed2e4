"""Points in time and their parts, compared with the standard library's."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftway.worker.wire.columns import SPARE
from driftway.worker.wire.scanner import NO_TIME
from driftway.worker.wire.schema.conversion import times
from driftway.worker.wire.schema.conversion.times import NOT_A_TIME
from driftway.worker.wire.schema.feature import BY_SIZE, UNITS
from driftway.worker.wire.schema.schema import AS_SPELLED, BY_SIZE_OF_TIMES, EventSchema
from tests.support.examples import examples, repetitions
from tests.unit.worker.rows import STAMP
from tests.unit.worker.wire.schema.reading import decoded, row, schema_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FAST = examples(500)
OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59)
MOMENTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))  # noqa: DTZ001 - so that no offset leaves the calendar


def of_text(text: str, unit: str = BY_SIZE) -> int:
    raw = np.frombuffer(text.encode() + b'"' + bytes(SPARE), np.uint8)
    return int(times.of_text(raw, 0, len(text.encode()), times.MICROS_IN[unit]))


def of_number(number: float, unit: str = BY_SIZE) -> int:
    return int(times.of_number(float(number), times.MICROS_IN[unit]))


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


@pytest.mark.random_cases
def test_every_day_of_the_calendar_is_read() -> None:
    """By default every tenth one, and so each day of a year in some years."""
    day, end = datetime(1, 1, 1, tzinfo=UTC), datetime(2500, 1, 1, tzinfo=UTC)
    count = (end - day).days
    days = [day + timedelta(days=i) for i in range(0, count, count // repetitions(count))]
    assert [of_text(one.date().isoformat()) for one in days] == [micros(one) for one in days]


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
def test_other_texts_are_not_times(text: str) -> None:
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
def test_the_unit_of_a_number_follows_from_its_size(number: float, us: int) -> None:
    assert abs(of_number(number) - us) <= (0 if us == NOT_A_TIME or abs(number) < 1e17 else 1)
    if isinstance(number, int):
        assert of_text(str(number)) == of_number(number)
    if isinstance(number, float) and math.isfinite(number) and abs(number) < 1e18:
        assert abs(of_text(repr(number)) - us) <= 1


MICROS = {"s": 10**6, "ms": 10**3, "us": 1, "ns": Fraction(1, 1000), "days": 86_400 * 10**6}
SIZES = st.integers(-(10**19), 10**19) | st.floats(-1e19, 1e19) | st.integers(-(10**12), 10**12)
FIRST, LAST = micros(datetime(1, 1, 1, tzinfo=UTC)), micros(datetime(9999, 12, 31, tzinfo=UTC)) + 86_400 * 10**6


def naive(text: str, unit: str) -> int:
    """Return the us since 1970 of a number, computed exactly from its nearest float64; rounded half up."""
    exact = Fraction(float(text)) * MICROS[unit]
    return math.floor(exact + Fraction(1, 2)) if FIRST <= exact < LAST else NOT_A_TIME


@FAST
@given(SIZES, st.sampled_from(UNITS))
@example(1_732_451_400_000_000_000, "ns")
@example(47_606_400_000, "ms")
@example(-630_547_200_000, "ms")
@example(19_000, "days")
@example(1_700_000_000_000, "s")
def test_numbers_are_read_in_their_unit(number: float, unit: str) -> None:
    text = repr(number)
    found, expected = of_number(number, unit), naive(text, unit)
    # A float64 of us has 53 bits: it is rounded once, and beyond 2285 by more than 1 us.
    assert (found == NOT_A_TIME) == (expected == NOT_A_TIME)
    assert found == NOT_A_TIME or abs(found - expected) <= 1 + 2**-52 * abs(expected)
    if isinstance(number, int) and len(text) <= 19:
        assert of_text(text, unit) == found


def test_a_number_without_a_unit_is_not_a_time() -> None:
    schema = schema_of("made:time=day", time="at")
    message = "is a number without a unit: write unit=s, ms, us, ns or days into the schema"
    for number in ("47606400000", "1700000000", '"1732451400000000000"', "0", "-1"):
        assert row([b'{"made":%s}' % number.encode()], schema) == f"made {message}"
        assert row([b'{"made":"2026-11-24","at":%s}' % number.encode()], schema) == f"at {message}"
    assert row([b'{"made":"2026-11-24","at":"2026-11-24"}'], schema)[0] == [24.0]


@pytest.mark.parametrize(
    ("path", "value"),
    [("t", b'{"t":1700000000123}'), ("@envelope.ts_ms", b'{"ts_ms":1700000000123}'),
     ("@envelope.source.ts_us", b'{"source":{"ts_us":1700000000123456}}'),
     ("@envelope.ts_ns", b'{"ts_ns":1700000000123456789}')],
)  # fmt: skip
def test_paths_with_a_defined_unit_need_no_option(path: str, value: bytes) -> None:
    assert row([value], schema_of("a:missing=0", time=path))[3] == 1_700_000_000_123


def test_a_schema_from_before_units_keeps_the_meaning_of_its_times() -> None:
    old = EventSchema.of_dict({"features": ["made:time=seconds"], "time": "at"})
    texts = ("1700000000", "1700000000123", '"1700000000123456"', "1700000000123456789", '"1700000000123456789"')
    seconds = [row([b'{"made":%s}' % text.encode()], old)[0][0] for text in texts]
    assert [math.floor(one) for one in seconds] == [1_700_000_000] * 5
    assert "units" not in old.as_dict()
    assert EventSchema.of_dict(old.as_dict()) == old


@pytest.mark.parametrize(
    ("feature", "time", "continued"),
    [("made:time=seconds", "at", True), ("made:time=seconds,unit=ms", "at", True),
     ("made:time=seconds,unit=ms", "at:unit=s", True), ("made:time=day", "at", False),
     ("made:time=seconds", "t", False)],
)  # fmt: skip
def test_units_may_be_added_to_a_state_from_before_them(feature: str, time: str, continued: bool) -> None:
    old = {"features": ["made:time=seconds"], "time": "at"}
    ours = schema_of(feature, time=time)
    found = ours.continuing(old)
    assert (found is not None) == continued
    assert ours.continuing(ours.as_dict()) is None
    if found is not None:
        assert found.reading == BY_SIZE_OF_TIMES
        again = ours.continuing(found.as_dict())
        assert again == found
        assert row([b'{"made":"2026-11-24T00:00:01Z","at":1700000000}'], found)[3] == 1_700_000_000_000


def test_a_state_from_before_other_spellings_keeps_its_reading_of_texts() -> None:
    ours = schema_of("flag:one-of=yes|no", "words:hash=4", "amount", time="at")
    old = {key: value for key, value in ours.as_dict().items() if key != "spellings"}
    found = ours.continuing(old)
    assert found is not None
    assert found.reading == AS_SPELLED
    assert found.as_dict() == old
    assert ours.continuing(found.as_dict()) == found
    assert ours.continuing(old | {"features": ["flag:one-of=yes|no", "words:hash=4", "amount:missing=0"]}) is None
    event = b'{"flag":true,"words":["a"],"amount":1}'
    assert sum(decoded([event], ours).X[0, 2:6]) == 1
    assert "words" in decoded([event], found).rejected[0].reason
    text = b'{"flag":"TRUE","words":"a","amount":1}'
    assert decoded([text], ours).X[0, :2].tolist() == [1, 0]
    assert decoded([text], found).X[0, :2].tolist() == [0, 0]


def test_another_unit_than_that_of_the_state_is_another_schema() -> None:
    old = {"features": ["made:time=seconds,unit=ms"], "time": "at"}
    assert schema_of("made:time=seconds,unit=ms", time="at").continuing(old) is not None
    assert schema_of("made:time=seconds,unit=us", time="at").continuing(old) is None
    assert schema_of("made:time=seconds", time="at").continuing(old) is None


@FAST
@given(MOMENTS)
@example(datetime(1970, 1, 1))  # noqa: DTZ001
@example(datetime(1969, 12, 31, 23, 59, 59, 999999))  # noqa: DTZ001
@example(datetime(2000, 2, 29))  # noqa: DTZ001
def test_parts_of_a_time_equal_those_of_datetime(moment: datetime) -> None:
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


def test_a_missing_time_has_missing_parts() -> None:
    at = np.array([NOT_A_TIME])
    for write in times.WRITERS.values():
        X = np.zeros((1, 2))
        write(at, X, 0)
        assert np.isnan(X[0, 0])
    X = np.zeros((1, 1))
    times.write_age(at, np.zeros(1, np.int64), X, 0)
    assert np.isnan(X).all()


def test_age_is_relative_to_the_time_of_the_event_or_of_its_record() -> None:
    schema = schema_of("made:time=age,unit=s", time="at")
    assert row([b'{"made":"2026-11-24T12:00:00Z","at":"2026-11-24T12:00:30.5Z"}'], schema)[0] == [30.5]
    assert row([b'{"made":1699999990}'], schema)[0] == [10.0]
    assert row([b'{"made":1699999990,"at":"soon"}'], schema)[::3] == ([10.0], NO_TIME)
    assert STAMP == 1_700_000_000_000


def test_the_time_of_an_event_is_in_milliseconds() -> None:
    schema = schema_of("a", time="at:unit=s")
    texts = ['"2026-11-24T12:30:05.250999Z"', "1700000000", "1700000000.123", "-0.0005", '"1969-12-31T23:59:59.9995Z"',
             "null", '"soon"', "true", "[1]", "1e30"]  # fmt: skip
    batch = decoded([f'{{"a":1,"at":{text}}}'.encode() for text in texts], schema)
    moment = micros(datetime(2026, 11, 24, 12, 30, 5, 250999, tzinfo=UTC)) // 1000
    assert batch.t.tolist() == [moment, 1_700_000_000_000, 1_700_000_000_123, -1, -1, *[NO_TIME] * 5]
    assert batch.rejected == []
