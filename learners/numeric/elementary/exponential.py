"""exp: x = (n / 128) ln 2 + r, a table for 2^(n / 128), a short series for e^r - 1.

Tang, Table-driven implementation of the exponential function, ACM TOMS 15, 1989. Error below 0.52 ulp, or 0.8 if the
result is subnormal.
"""

import math

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.numeric.elementary.tables import EXP2, EXP2_REST
from driftway.learners.numeric.elementary.words import bits_of, number_of, scaled

STEPS_PER_UNIT = 184.6649652337873
"""128 / ln 2."""
STEP, STEP_REST = 0.0054152123482253955, -1.0082281460997769e-13
"""ln 2 / 128; the first part has 35 bits, so that its product with n is exact."""
WHOLE = 1.5 * 2.0**52
"""Adding it to a number below 2^51 rounds that to the nearest integer, which is in the lowest bits of the sum."""

ORDINARY = 690.0
"""Up to this |x| neither e^x nor e^-x is infinite, and no intermediate product is subnormal."""
OVERFLOW, UNDERFLOW = 709.79, -745.14


@fragment
def series(r: float) -> float:
    """e^r - 1 for |r| <= ln 2 / 256, with an error below 2^-60: the terms after r^5 / 120 are smaller."""
    square = r * r
    return r + (square * (0.5 + r * (1.0 / 6.0)) + square * square * (1.0 / 24.0 + r * (1.0 / 120.0)))


@fragment
def exp(x: float) -> float:
    """e^x: |x| <= 690 is computed inline, everything else by `far_exp`."""
    if not abs(x) <= ORDINARY:
        return far_exp(x)
    shifted = x * STEPS_PER_UNIT + WHOLE
    n, whole = bits_of(shifted), shifted - WHOLE
    p: float = EXP2_REST[n & 127] + series((x - whole * STEP) - whole * STEP_REST)
    scale = number_of(bits_of(EXP2[n & 127]) + ((n >> 7) << 52))
    return scale + scale * p


@kernel
def far_exp(x: float) -> float:
    """e^x for results that are infinite, subnormal, 0 or NaN, or close to that."""
    if math.isnan(x):
        return x
    if x > OVERFLOW:
        return math.inf
    if x < UNDERFLOW:
        return 0.0
    first, _, k = exp_parts(x, 0.0)
    return scaled(first, k)


@fragment
def exp_parts(x: float, rest: float) -> tuple[float, float, int]:
    """(a, b, k) with e^(x + rest) = (a + b) 2^k, for |x| < 2^20 and a small rest; a in [0.99, 2), b below its last bit.

    The error of a + b is 2^-60.
    """
    shifted = x * STEPS_PER_UNIT + WHOLE
    n, whole = bits_of(shifted), shifted - WHOLE
    # The low word of WHOLE is 0, so that subtracting its bits leaves n.
    steps = n - bits_of(WHOLE)
    scale = EXP2[n & 127]
    p = scale * (EXP2_REST[n & 127] + series(((x - whole * STEP) - whole * STEP_REST) + rest))
    first = scale + p
    return first, (scale - first) + p, steps >> 7
