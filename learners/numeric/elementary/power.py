"""pow: e^(p ln x), with the logarithm and its product in two parts each.

The exponential turns a relative error of 2^-66 in a logarithm of up to 745 into one of 2^-56 in the result. Error below
0.52 ulp, or 0.8 if the result is subnormal.
"""

import math

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import OVERFLOW, UNDERFLOW, exp_parts
from driftway.learners.numeric.elementary.logarithm import LARGEST, log_parts
from driftway.learners.numeric.elementary.words import product_rest, scaled


@kernel
def power(x: float, p: float) -> float:
    """x^p for x >= 0, NaN for x < 0; as in C, 1 if x = 1 or p = 0, whatever the other one is."""
    if p == 0.0 or x == 1.0:
        return 1.0
    if not 0.0 < x <= LARGEST or not abs(p) <= LARGEST:
        return far_power(x, p)
    a, b = log_parts(x)
    product = p * a
    if product > OVERFLOW:
        return math.inf
    if product < UNDERFLOW - 1.0:
        return 0.0
    first, _, k = exp_parts(product, product_rest(p, a, product) + p * b)
    return scaled(first, k)


@kernel
def far_power(x: float, p: float) -> float:
    """x^p if either is infinite or NaN, or x is not above 0; p is not 0 and x is not 1."""
    if not x >= 0.0 or math.isnan(p):
        return math.nan
    vanishes = (x < 1.0) == (p > 0.0)
    return 0.0 if vanishes else math.inf
