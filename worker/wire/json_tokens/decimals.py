"""Convert decimal text to the nearest float64 in kernels: the exact fast path, then Eisel-Lemire.

Numbers that these cannot decide (more than 19 significant digits, subnormal or overflowing results, rare ties) are left
to orjson, so that a number has the same bits whichever path reads it.

Positions and digits are words (uint64) even where they are small: numba makes a float of uint64 + int64.

Source: Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51, 2021.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, load8, trailing_zeros
from driftway.worker.wire.columns import Text

SMALLEST_POWER, LARGEST_POWER = -300, 300

Words = NDArray[np.uint64]


def _powers_of_five() -> Words:
    """Return 128-bit truncated significands of 5^q: u8[q, 2], high word first; 5^-1 to 5^-27 rounded up."""
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
WHOLE_POWERS_OF_TEN = np.array([10**k for k in range(8)], np.uint64)

ZERO, ONE, THREE, FOUR, EIGHT, NINE, TEN = (np.uint64(n) for n in (0, 1, 3, 4, 8, 9, 10))
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
GUARD_BITS = np.uint64(0xFFFFFFFFFFFFFFFF >> 55)
TOP_BIT = np.uint64(1 << 63)
MANTISSA_BITS, HIDDEN_BIT = np.uint64(52), np.uint64(1 << 52)
EXPONENT_BIAS = 1023
EXACT_INTEGERS = np.uint64(1 << 53)
MAX_DIGITS = np.uint64(19)
NOWHERE = ALL_ONES
"""Position returned for something that is absent, or left to orjson."""

PLUS, MINUS, POINT, UPPER_E, LOWER_E = 43, 45, 46, 69, 101
ZERO_DIGIT = np.uint64(48)

# Constants for eight bytes at once, the first in the lowest byte.
EIGHT_ZERO_DIGITS, BEYOND_NINE = np.uint64(0x3030303030303030), np.uint64(0x4646464646464646)
HIGH_BITS = np.uint64(0x8080808080808080)
BYTE, TWO_BYTES, SEVEN_BYTES = np.uint64(8), np.uint64(16), np.uint64(56)
EVERY_OTHER_PAIR = np.uint64(0x000000FF000000FF)
FIRST_PAIRS, LAST_PAIRS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
HUNDRED_MILLION = np.uint64(10**8)


@kernel
def multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the 128-bit product of two words: (high, low)."""
    a0, a1 = a & LOW_HALF, a >> HALF
    b0, b1 = b & LOW_HALF, b >> HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> HALF)
    cross = a0 * b1 + (middle & LOW_HALF)
    return a1 * b1 + (middle >> HALF) + (cross >> HALF), (cross << HALF) | (low & LOW_HALF)


@kernel
def nearest(w: np.uint64, q: np.int64) -> float:
    """Return the float64 nearest to w * 10^q for w > 0; NaN if it cannot be decided here."""
    if q < SMALLEST_POWER or q > LARGEST_POWER:
        return math.nan
    zeros = 0
    while w & TOP_BIT == ZERO:
        w <<= ONE
        zeros += 1
    row = q - SMALLEST_POWER
    high, low = multiply(w, POWERS_OF_FIVE[row, 0])
    if high & GUARD_BITS == GUARD_BITS:
        more, _ = multiply(w, POWERS_OF_FIVE[row, 1])
        low = low + more
        if more > low:
            high = high + ONE
    if low == ALL_ONES and (q < -27 or q > 55):
        return math.nan
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros
    if exponent >= EXPONENT_BIAS:  # q >= SMALLEST_POWER, so it is never too small
        return math.nan
    # Exactly half way between two doubles: round to even.
    if low <= ONE and -4 <= q <= 23 and mantissa & THREE == ONE and mantissa << shift == high:
        mantissa = mantissa ^ ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    # Added, not set: a mantissa that was rounded up to 2^53 carries into the exponent.
    bits = (np.uint64(exponent + EXPONENT_BIAS) << MANTISSA_BITS) + (mantissa - HIDDEN_BIT)
    return float(np.uint64(bits).view(np.float64))


@fragment
def read_number(text: Text, p: np.uint64) -> tuple[np.uint64, float]:
    """Read a JSON number at text[p:]: (position after it, value); position NOWHERE if left to orjson.

    Digits are read eight at a time: text must have eight more bytes after the number, whose first ends the number.
    """
    negative = text[p] == MINUS
    p += np.uint64(negative)  # added, not branched on: signs are unpredictable
    first, w = p, ZERO
    digit = np.uint64(text[p]) - ZERO_DIGIT
    while digit <= NINE:
        w = w * TEN + digit
        p += ONE
        digit = np.uint64(text[p]) - ZERO_DIGIT
    digits = p - first
    sound = digits == ONE or (digits > ONE and text[first] != ZERO_DIGIT)
    q = np.int64(0)
    if text[p] == POINT:
        point = p
        p, w = _digits(text, p + ONE, w)
        places = p - point - ONE
        sound = sound and places > ZERO
        digits += places
        q = -np.int64(places)
    if digits > MAX_DIGITS:
        sound = sound and _significant(text, first, p) <= MAX_DIGITS
    if text[p] == LOWER_E or text[p] == UPPER_E:
        p, e = _exponent(text, p + ONE)
        sound = sound and p != NOWHERE
        q += e
    value = 0.0
    if w == ZERO:
        sound = sound and not negative  # orjson reads -0 as the integer 0 and -0.0 as a float
    elif w <= EXACT_INTEGERS and -22 <= q <= 22:
        value = float(np.int64(w))
        value = value * POWERS_OF_TEN[q] if q >= 0 else value / POWERS_OF_TEN[-q]
    else:
        value = nearest(w, q)
        sound = sound and not math.isnan(value)
    return (p if sound else NOWHERE), (-value if negative else value)


@fragment
def _digits(text: Text, p: np.uint64, w: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Read the digits that follow digits of value w: (position after them, value of all, modulo 2^64)."""
    word = load8(text, p)
    others = _no_digits(word)
    while others == ZERO:
        w = w * HUNDRED_MILLION + _value(word - EIGHT_ZERO_DIGITS)
        p += EIGHT
        word = load8(text, p)
        others = _no_digits(word)
    bits = trailing_zeros(others) & SEVEN_BYTES
    # Shifted up, so that zeros precede the digits; in two steps, since a shift by 64 bits is undefined.
    word = ((word - EIGHT_ZERO_DIGITS) << BYTE) << (SEVEN_BYTES - bits)
    read = bits >> THREE
    return p + read, w * WHOLE_POWERS_OF_TEN[read] + _value(word)


@fragment
def _no_digits(word: np.uint64) -> np.uint64:
    """Set the high bit of bytes that are not digits; valid up to the first of them, which may carry into later ones."""
    return ((word + BEYOND_NINE) | (word - EIGHT_ZERO_DIGITS)) & HIGH_BITS


@fragment
def _value(word: np.uint64) -> np.uint64:
    """Return the number with these eight digits, combined to pairs, then to groups of four, then to the number."""
    word = word * TEN + (word >> BYTE)
    return ((word & EVERY_OTHER_PAIR) * FIRST_PAIRS + ((word >> TWO_BYTES) & EVERY_OTHER_PAIR) * LAST_PAIRS) >> HALF


@fragment
def _significant(text: Text, p: np.uint64, end: np.uint64) -> np.uint64:
    """Count the digits of the number text[p:end] without leading zeros."""
    digits, seen = ZERO, False
    while p < end:
        if text[p] != POINT:
            seen = seen or text[p] != ZERO_DIGIT
            digits += np.uint64(seen)
        p += ONE
    return digits


@fragment
def _exponent(text: Text, p: np.uint64) -> tuple[np.uint64, np.int64]:
    """Read a number's exponent after the e: (position after it, value); NOWHERE without digits or with over 3."""
    minus = text[p] == MINUS
    if minus or text[p] == PLUS:
        p += ONE
    first, e = p, np.int64(0)
    digit = np.uint64(text[p]) - ZERO_DIGIT
    while digit <= NINE and p - first < FOUR:
        e = e * 10 + np.int64(digit)
        p += ONE
        digit = np.uint64(text[p]) - ZERO_DIGIT
    return (p if ZERO < p - first < FOUR else NOWHERE), (-e if minus else e)
