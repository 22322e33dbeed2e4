"""erfc: e^(-x^2) times exp(x^2) erfc(x), which is smooth: a polynomial in each of 77 bins of 0 <= x < 28.

The bins are 16 per doubling of 1 + x. x^2 is exact in two parts, as in Cody, Rational Chebyshev approximations for the
error function, Math. Comp. 23, 1969. Error below 0.6 ulp for x >= 0, or 0.8 for x < 0 or a subnormal result.
"""

import math

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import exp_parts
from driftway.learners.numeric.elementary.tables import ERFC_MIDDLE, ERFC_POWERS
from driftway.learners.numeric.elementary.words import bits_of, head, product_rest, scaled

UNDERFLOW = 27.3
ONE_BITS = 0x3FF0000000000000


@kernel
def erfc(x: float) -> float:
    """1 - erf(x) = 2 / sqrt(pi) times the integral of e^(-t^2) over t > x."""
    if math.isnan(x):
        return x
    size = abs(x)
    if size > UNDERFLOW:
        return 0.0 if x > 0.0 else 2.0
    bin_ = (bits_of(size + 1.0) - ONE_BITS) >> 48
    r, at = size - ERFC_MIDDLE[bin_], 11 * bin_
    c = ERFC_POWERS[at : at + 11]
    square = r * r
    low = (c[2] + r * c[3]) + square * (c[4] + r * c[5])
    high = (c[6] + r * c[7]) + square * ((c[8] + r * c[9]) + square * c[10])
    tail = r * (low + square * square * high)
    smooth = c[0] + tail
    smooth_rest = ((c[0] - smooth) + tail) + c[1]

    upper = head(size)
    first, rest, k = exp_parts(-upper * upper, -(size - upper) * (size + upper))
    product = first * smooth
    product_low = product_rest(first, smooth, product) + (first * smooth_rest + rest * smooth)
    if x >= 0.0:
        return scaled(product + product_low, k)
    return 2.0 - scaled(product + product_low, k)
