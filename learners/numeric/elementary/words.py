"""Conversion of numbers to 64-bit words and back: sign, 11 bits of exponent (1023 is 2^0), 52 of mantissa."""

import numpy as np

from driftway.learners.engine.jit import fragment

UPPER_26 = ~((1 << 27) - 1)
"""Mask that leaves 26 bits of the significand; the product of two such numbers is exact."""

SPLIT = 512
"""Half of the exponent range: two factors of at most 2^512 reach every number and do not overflow."""


@fragment
def bits_of(x: float) -> int:
    """The word of a number."""
    return int(np.float64(x).view(np.int64))


@fragment
def number_of(bits: int) -> float:
    """The number of a word."""
    return float(np.int64(bits).view(np.float64))


@fragment
def head(x: float) -> float:
    """The upper 26 bits of x; x - head(x) is exact and has at most 27 bits."""
    return number_of(bits_of(x) & UPPER_26)


@fragment
def power_of_two(k: int) -> float:
    """2^k, -1022 <= k <= 1023."""
    return number_of((k + 1023) << 52)


@fragment
def scaled(x: float, k: int) -> float:
    """The product x 2^k for 2^-8 < x < 4 and |k| < 2000, rounded once; 0 or inf if it is out of range."""
    if k < -1000:
        return x * power_of_two(max(k + SPLIT, -1022)) * power_of_two(-SPLIT)
    if k > 1000:
        return x * power_of_two(min(k - SPLIT, 1023)) * power_of_two(SPLIT)
    return x * power_of_two(k)


@fragment
def product_rest(a: float, b: float, product: float) -> float:
    """The rounding error of product = a b (Dekker, Numerische Mathematik 18, 1971), exact unless it underflows."""
    a_head, b_head = head(a), head(b)
    a_rest, b_rest = a - a_head, b - b_head
    return ((a_head * b_head - product) + a_head * b_rest + a_rest * b_head) + a_rest * b_rest
