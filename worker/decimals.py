"""Decimal text to the nearest float64, in kernels: the exact fast path, then Eisel-Lemire.

What these cannot decide (more than 19 significant digits, subnormal or overflowing results, rare ties) is reported as
undecided and left to orjson, so that a number has the same bits whichever path reads it.

Source: Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51, 2021.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import fragment, kernel

SMALLEST_POWER, LARGEST_POWER = -300, 300

Words = NDArray[np.uint64]
Text = NDArray[np.uint8]


def _powers_of_five() -> Words:
    """128-bit truncated significands of 5^q: u8[q, 2], high word first; 5^-1 to 5^-27 rounded up."""
    table = np.zeros((LARGEST_POWER - SMALLEST_POWER + 1, 2), np.uint64)
    for q in range(SMALLEST_POWER, LARGEST_POWER + 1):
        if q < 0:
            power = 5**-q
            bits = (power - 1).bit_length()
            significand = 2 ** (bits + 127 if q >= -27 else 2 * bits + 128) // power + 1
        else:
            significand = 5**q << 128
        significand >>= significand.bit_length() - 128
        table[q - SMALLEST_POWER] = significand >> 64, significand & (2**64 - 1)
    return table


POWERS_OF_FIVE = _powers_of_five()
POWERS_OF_TEN = np.array([float(10**q) for q in range(23)])

ZERO, ONE, THREE = np.uint64(0), np.uint64(1), np.uint64(3)
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
GUARD_BITS = np.uint64(0xFFFFFFFFFFFFFFFF >> 55)
TOP_BIT = np.uint64(1 << 63)
EXACT_INTEGERS = 1 << 53
MOST_DIGITS = 18
ZERO_DIGIT, NINE_DIGIT, PLUS, MINUS, POINT, UPPER_E, LOWER_E = 48, 57, 43, 45, 46, 69, 101


@kernel
def multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128-bit product of two words: (high, low)."""
    a0, a1 = a & LOW_HALF, a >> HALF
    b0, b1 = b & LOW_HALF, b >> HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> HALF)
    cross = a0 * b1 + (middle & LOW_HALF)
    return a1 * b1 + (middle >> HALF) + (cross >> HALF), (cross << HALF) | (low & LOW_HALF)


@kernel
def nearest(w: int, q: int) -> float:
    """The float64 nearest to w * 10^q for 0 < w < 10^18; NaN where this cannot be decided here."""
    if q < SMALLEST_POWER or q > LARGEST_POWER:
        return math.nan
    significand = np.uint64(w)
    zeros = 0
    while significand & TOP_BIT == ZERO:
        significand <<= ONE
        zeros += 1
    row = q - SMALLEST_POWER
    high, low = multiply(significand, POWERS_OF_FIVE[row, 0])
    if high & GUARD_BITS == GUARD_BITS:
        more, _ = multiply(significand, POWERS_OF_FIVE[row, 1])
        low = low + more
        if more > low:
            high = high + ONE
    if low == ALL_ONES and (q < -27 or q > 55):
        return math.nan
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros
    if exponent <= -1023 or exponent >= 1023:
        return math.nan
    # Exactly half way between two doubles: round to even.
    if low <= ONE and -4 <= q <= 23 and mantissa & THREE == ONE and mantissa << shift == high:
        mantissa = mantissa ^ ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    return math.ldexp(np.float64(np.int64(mantissa)), int(exponent) - 52)


@fragment
def read_number(text: Text, p: int, end: int) -> tuple[int, float]:
    """Read a JSON number at text[p:end], p < end: (position after it, value); position -1 if left to orjson."""
    negative = text[p] == MINUS
    if negative:
        p += 1
    w, q, significant = 0, 0, 0
    first = p
    while p < end and ZERO_DIGIT <= text[p] <= NINE_DIGIT:
        w = w * 10 + (text[p] - ZERO_DIGIT)
        significant += w != 0  # also once w has overflowed
        p += 1
    sound = p > first and (text[first] != ZERO_DIGIT or p == first + 1)
    if sound and p < end and text[p] == POINT:
        p += 1
        first = p
        while p < end and ZERO_DIGIT <= text[p] <= NINE_DIGIT:
            w = w * 10 + (text[p] - ZERO_DIGIT)
            significant += w != 0  # also once w has overflowed
            p += 1
        q = first - p
        sound = q < 0
    if sound and p < end and (text[p] == LOWER_E or text[p] == UPPER_E):
        p += 1
        minus = p < end and text[p] == MINUS
        if p < end and (text[p] == MINUS or text[p] == PLUS):
            p += 1
        first, e = p, 0
        while p < end and ZERO_DIGIT <= text[p] <= NINE_DIGIT and p - first < 4:
            e = e * 10 + (text[p] - ZERO_DIGIT)
            p += 1
        sound = first < p < first + 4
        q += -e if minus else e
    # orjson reads -0 as the integer 0 and -0.0 as a float; beyond 18 digits w may have overflowed: both are left.
    sound = sound and significant <= MOST_DIGITS and not (negative and w == 0)
    value = 0.0
    if sound and w > 0:
        if w <= EXACT_INTEGERS and -22 <= q <= 22:
            value = w * POWERS_OF_TEN[q] if q >= 0 else w / POWERS_OF_TEN[-q]
        else:
            value = nearest(w, q)
            sound = not math.isnan(value)
    return (p if sound else -1), (-value if negative else value)
