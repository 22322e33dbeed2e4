"""Values for which JSON has no type."""

from __future__ import annotations

import datetime
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from driftway.worker.kafka.registry.scalars import MICROS, MILLIS, NANOS, day, decimal, instant
from driftway.worker.wire.codec import id_text


@pytest.mark.parametrize(("ticks", "unit", "text"), [
    (0, MILLIS, "1970-01-01T00:00:00Z"),
    (-1, MILLIS, "1969-12-31T23:59:59.999000Z"),
    (1, MICROS, "1970-01-01T00:00:00.000001Z"),
    (1, NANOS, "1970-01-01T00:00:00.000000001Z"),
    (-1, NANOS, "1969-12-31T23:59:59.999999999Z"),
    (1_000, NANOS, "1970-01-01T00:00:00.000001Z"),
    (-62_135_596_800_000, MILLIS, "0001-01-01T00:00:00Z"),
    (253_402_300_799_999, MILLIS, "9999-12-31T23:59:59.999000Z"),
])  # fmt: skip
def test_an_instant_is_written_as_text(ticks, unit, text):
    assert instant(ticks, unit) == text
    assert instant(ticks, unit, "") == text[:-1]


@pytest.mark.parametrize("ticks", [253_402_300_800_000, -62_135_596_800_001, 2**63 - 1, -(2**63)])
def test_beyond_the_calendar_an_instant_stays_a_number(ticks):
    assert instant(ticks, MILLIS) == ticks


def test_a_day_is_written_as_text():
    assert [day(0), day(-1), day(20_781)] == ["1970-01-01", "1969-12-31", "2026-11-24"]
    last = datetime.date.max.toordinal() - datetime.date(1970, 1, 1).toordinal()
    assert (day(last), day(last + 1), day(2**31 - 1), day(-(2**31))) == ("9999-12-31", last + 1, 2**31 - 1, -(2**31))


@pytest.mark.parametrize("unscaled", [0, 1, -1, 10, 12345, -(2**70), 3 * 10**30 + 1, 2**53 + 1])
@pytest.mark.parametrize("scale", [0, 1, 2, 17, 30, -3])
def test_decimal_is_the_nearest_number(unscaled, scale):
    data = unscaled.to_bytes(16, "big", signed=True)
    assert decimal(data, scale) == float(Fraction(unscaled) / Fraction(10) ** scale)


@given(integers(-(10**40), 10**40), integers(0, 30))
def test_decimals_as_ids_are_distinguished(unscaled, scale):
    """The text of an id is that of the float64 where that is the decimal, otherwise the decimal's digits."""
    data = unscaled.to_bytes(20, "big", signed=True)
    text = id_text({"id": decimal(data, scale)})[6:-1].decode()
    assert Fraction(text) == Fraction(unscaled, 10**scale)
    if len(str(abs(unscaled))) <= 15:
        assert text == id_text(float(Fraction(unscaled, 10**scale))).decode()


def test_a_decimal_of_any_scale_is_read_quickly():
    started = time.monotonic()
    assert decimal(b"\1", 2**31 - 1) == 0.0
    assert decimal(b"\1", -(2**31)) == float("inf")
    assert decimal(b"", 0) == 0.0
    with pytest.raises(ValueError, match="limit"):
        decimal(b"\x7f" * 1_000_000, 0)
    assert time.monotonic() - started < 1.0
