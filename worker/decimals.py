"""Decimal text to the nearest float64, in kernels: the exact fast path, then Eisel-Lemire.

What these cannot decide (more than 19 significant digits, subnormal or overflowing results, rare ties) is reported as
undecided and left to orjson, so that a number has the same bits whichever path reads it.

Source: Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51, 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.jit import kernel

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

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
GUARD_BITS = np.uint64(0xFFFFFFFFFFFFFFFF >> 55)
EXACT_INTEGERS = np.uint64(1 << 53)
HIDDEN_BIT, CARRY_BIT = np.uint64(1 << 52), np.uint64(1 << 53)
TOP_BIT = np.uint64(1 << 63)
TEN = np.uint64(10)


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
def nearest_bits(w: np.uint64, q: int, powers: Words) -> tuple[bool, np.uint64]:
    """Bits of the float64 nearest to w * 10^q, w > 0; (False, 0) where this cannot be decided here."""
    zeros = 0
    while w & TOP_BIT == np.uint64(0):
        w <<= ONE
        zeros += 1
    row = q - SMALLEST_POWER
    high, low = multiply(w, powers[row, 0])
    if high & GUARD_BITS == GUARD_BITS:
        more, _ = multiply(w, powers[row, 1])
        low = low + more
        if more > low:
            high = high + ONE
    if low == ALL_ONES and (q < -27 or q > 55):
        return False, np.uint64(0)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if exponent <= 0 or exponent >= 2046:
        return False, np.uint64(0)
    # Exactly half way between two doubles: round to even.
    if low <= ONE and -4 <= q <= 23 and mantissa & THREE == ONE and mantissa << shift == high:
        mantissa = mantissa ^ ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >= CARRY_BIT:
        mantissa = HIDDEN_BIT
        exponent += 1
    return True, (mantissa ^ HIDDEN_BIT) | (np.uint64(exponent) << np.uint64(52))


@kernel
def read_number(
    text: Text, p: int, end: int, powers: Words, tens: NDArray[np.float64], cell: Words
) -> tuple[int, float]:
    """Read a JSON number at text[p:end]: (position after it, value); position -1 if left to orjson.

    `cell` u8[1] is scratch: a float64 is made from its bits through a view of it.
    """
    negative = text[p] == 45
    if negative:
        p += 1
    w = np.uint64(0)
    start = first = p
    while p < end and 48 <= text[p] <= 57:
        w = w * TEN + np.uint64(text[p] - 48)
        p += 1
    digits = p - first
    if digits == 0 or (digits > 1 and text[first] == 48):
        return -1, 0.0
    q = 0
    if p < end and text[p] == 46:
        p += 1
        first = p
        while p < end and 48 <= text[p] <= 57:
            w = w * TEN + np.uint64(text[p] - 48)
            p += 1
        q = first - p
        if q == 0:
            return -1, 0.0
        digits -= q
    if digits > 19:
        # Zeros in front are no digits of w: 0.0012345678901234567 is an ordinary feature.
        while start < p and (text[start] == 48 or text[start] == 46):
            digits -= text[start] == 48
            start += 1
        if digits > 19:
            return -1, 0.0
    if p < end and (text[p] == 101 or text[p] == 69):
        p += 1
        minus = p < end and text[p] == 45
        if p < end and (text[p] == 45 or text[p] == 43):
            p += 1
        first = p
        e = 0
        while p < end and 48 <= text[p] <= 57 and p - first < 4:
            e = e * 10 + (text[p] - 48)
            p += 1
        if p == first or p - first == 4:
            return -1, 0.0
        q += -e if minus else e
    if w == np.uint64(0):
        # orjson reads -0 as the integer 0 and -0.0 as a float: leave both to it.
        return (-1, 0.0) if negative else (p, 0.0)
    if w <= EXACT_INTEGERS and -22 <= q <= 22:
        value = np.float64(w)
        value = value * tens[q] if q >= 0 else value / tens[-q]
    else:
        if q < SMALLEST_POWER or q > LARGEST_POWER:
            return -1, 0.0
        decided, bits = nearest_bits(w, q, powers)
        if not decided:
            return -1, 0.0
        cell[0] = bits
        value = cell.view(np.float64)[0]
    return p, (-value if negative else value)
