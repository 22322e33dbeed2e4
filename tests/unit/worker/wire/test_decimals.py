"""Decimal text to float64: what the kernel decides has the bits of Python's `float`, and the rest is left undecided."""

from __future__ import annotations

import re
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftway.worker.wire.json_tokens.decimals import NOWHERE, POWERS_OF_FIVE, SMALLEST_POWER, multiply, read_number
from driftway.worker.wire.writer import as_text
from tests.support.examples import examples

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
MANY = examples(400)


def read(text: str, end: str = "") -> tuple[int, float]:
    p, value = read_number(as_text((text + end).encode() + bytes(8)), np.uint64(0))
    return (-1 if p == NOWHERE else int(p)), float(value)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def check(text: str, decided: bool | None = None) -> None:
    """Fail unless the kernel's value, if any, is Python's; `decided` says whether there must be one."""
    p, value = read(text)
    if decided is not None:
        assert (p >= 0) is decided, text
    if p >= 0:
        assert p == len(text)
        assert bits(value) == bits(float(text)), f"{text}: {value!r} instead of {float(text)!r}"


@MANY
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
@example(5e-324)
@example(2.2250738585072014e-308)
@example(2.225073858507201e-308)
@example(1.7976931348623157e308)
@example(9007199254740993.0)
def test_shortest_text_of_any_double_reads_back_bit_for_bit(value: float) -> None:
    check(repr(value))


@given(st.floats(1e-280, 1e280))
@examples(250)
def test_ordinary_doubles_are_decided_by_the_kernel(value: float) -> None:
    check(repr(value), decided=True)
    check(repr(-value), decided=True)


@MANY
@given(st.integers(0, 10**20), st.integers(-340, 340), st.sampled_from(["e", "E", "e+", "E-"]))
def test_any_significand_and_exponent_are_read_as_by_float(w: int, q: int, sign: str) -> None:
    check(f"{w}{sign[0]}{q}")
    check(f"-{w}{sign}{abs(q)}")


@MANY
@given(st.text("0123456789", min_size=1, max_size=24), st.text("0123456789", max_size=24), st.integers(-320, 320))
def test_any_position_of_the_decimal_point_is_read(whole: str, fraction: str, q: int) -> None:
    text = (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")
    check(text)
    check(f"{text}e{q}")


@MANY
@given(st.integers(2**52, 2**53 - 1), st.integers(-70, 70), st.sampled_from([-1, 0, 1]))
@example(2**53 - 1, 0, 0)
def test_half_way_between_two_doubles_is_rounded_to_even(mantissa: int, exponent: int, off: int) -> None:
    half = Fraction(2 * mantissa + 1, 2) * Fraction(2) ** exponent
    digits = half.numerator * 10**60 // half.denominator + off
    text = str(digits).rstrip("0") if not off else str(digits)
    check(f"{text}e{len(str(digits)) - len(text) - 60}")
    check(f"{str(digits)[:19]}e{len(str(digits)) - 79}")


@pytest.mark.parametrize("power", range(48, 70))
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_powers_of_two_around_the_width_of_a_word_are_read(power: int, off: int) -> None:
    """Where the digits overflow 63 or 64 bits, into a negative or a small number."""
    for text in (f"{2**power + off}", f"{2**power + off}e-3", f"0.{2**power + off}", f"{2**power + off}00"):
        check(text)


@pytest.mark.parametrize("whole", range(9007199254740991, 9007199254741001))
def test_ties_of_short_integers_are_decided_and_even(whole: int) -> None:
    check(str(whole), decided=True)
    check(f"{whole}.5")
    check(f"{whole}0e-1", decided=True)


@pytest.mark.parametrize(
    "text",
    ["12345678901234567890", "0.12345678901234567890", "1e400", "1e-400", "4e-324", "1e0001", "-0", "-0.0", "-0e7"],
)
def test_hard_cases_are_left_undecided(text: str) -> None:
    assert read(text)[0] == -1


@pytest.mark.parametrize(
    "text",
    ["0", "0.0", "0e7", "0E-300", "1", "-1", "10", "1.0", "1e5", "1E+05", "-1.5e-05", "0.0012345678901234567",
     "-0.0000000000000000000012345678901234567e3", "0.00000000000000000000000000"],
)  # fmt: skip
def test_plain_numbers_are_decided(text: str) -> None:
    check(text, decided=True)


@pytest.mark.parametrize(
    "text",
    ["", "-", "+1", ".5", "-.5", "1.", "1.e5", "01", "-01", "00", "1e", "1e+", "1E-", "--1", "e5", "nan", "Infinity",
     "/1", ":1", "\u0661"],
)  # fmt: skip
def test_what_json_does_not_call_a_number_is_never_read_as_one(text: str) -> None:
    for end in (",", "]", " "):
        p, _ = read(text, end)
        assert p == -1, f"{text + end!r} was read up to {p}"


@MANY
@given(st.text("0123456789+-.eE ,]x", min_size=1, max_size=12))
def test_position_is_after_the_longest_json_number(text: str) -> None:
    p, value = read(text)
    if p < 0:
        return
    found = NUMBER.match(text)
    assert found is not None, f"{text!r} does not begin with a JSON number"
    assert p == found.end(), f"{text!r} was read up to {p}"
    assert bits(value) == bits(float(found[0]))


@pytest.mark.parametrize("front", ["", "-", "0.", "7.", "1e"])
def test_any_byte_ends_any_number_of_digits(front: str) -> None:
    """Digits are read eight at a time, so try each position in a word and each byte that can follow."""
    digits = "1234567890123456789"
    for n in range(len(digits) + 1):
        for byte in range(256):
            text = front + digits[:n]
            data = text.encode() + bytes([byte]) + b"9" * 8
            p, value = read_number(as_text(data), np.uint64(0))
            found = NUMBER.match(data.decode("latin-1"))
            if p != NOWHERE:
                assert found is not None, data
                assert int(p) == found.end(), data
                assert bits(float(value)) == bits(float(found[0])), data
            else:
                assert front != "0." or n == 0 or chr(byte) in "0123456789eE", f"{data!r} was left"


@pytest.mark.parametrize("n", [17, 18, 19, 20, 21, 24, 25, 39, 40, 1_000, 100_000])
def test_more_digits_than_a_word_holds_are_left_undecided_and_leading_zeros_do_not_count(n: int) -> None:
    """A value modulo 2^64 must never pass for the number itself."""
    for digits in ("9" * n, "1" + "0" * (n - 1), "18446744073709551617" + "0" * n, "0" * n + "18446744073709551617"):
        check(f"0.{digits}", decided=len(digits.lstrip("0")) <= 19)
        check(f"1.{digits}e5", decided=len(digits) <= 18)
        if digits[0] != "0":
            check(digits, decided=len(digits) <= 19)
    for zeros in ("0" * n, "0" * (8 * n)):
        check(f"0.{zeros}", decided=True)
        check(f"0.{zeros}123456789", decided=len(zeros) < 280)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
@examples(250)
@example(2**64 - 1, 2**64 - 1)
def test_the_128_bit_product_is_exact(a: int, b: int) -> None:
    high, low = multiply(np.uint64(a), np.uint64(b))
    assert (int(high) << 64) + int(low) == a * b


def test_table_of_powers_is_truncated_and_rounded_up_for_small_reciprocals() -> None:
    for row, (high, low) in enumerate(POWERS_OF_FIVE.tolist()):
        q = row + SMALLEST_POWER
        power = Fraction(5) ** q
        significand = (high << 64) + low
        assert high >> 63 == 1
        scale = Fraction(2) ** (significand.bit_length() - 1)
        ratio = Fraction(significand) / scale  # in [1, 2)
        exponent = power.numerator.bit_length() - power.denominator.bit_length()
        exact = power / Fraction(2) ** (exponent if power >= Fraction(2) ** exponent else exponent - 1)
        difference = ratio - exact
        assert abs(difference) <= Fraction(1, 2**127)
        assert difference >= 0 if -27 <= q < 0 else difference <= 0
