"""log, log1p, log2: x = 2^k z with z about 1, a table of 1 / c and ln c for the c nearest to z, a series in z / c - 1.

Tang, Table-driven implementation of the logarithm function, ACM TOMS 16, 1990. The reciprocals have 9 bits, so that
z / c - 1 is exact in two parts, and are 1 in the bins on both sides of 1, so that small results stay accurate. Errors:
log and log1p below 0.52 ulp, log2 below 1.5 and exact for powers of two.
"""

import math

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.numeric.elementary.tables import INVERSE, LOG, LOG_REST
from driftway.learners.numeric.elementary.words import bits_of, head, number_of, power_of_two

START = 0x3FE6A00000000000
"""Bits of 181/256, the smallest z; the table's 128 bins end at twice that."""
LN_2, LN_2_REST = 0.6931471805598903, 5.497923018708371e-14
"""The first part is a multiple of 2^-42, as are those in the table, so that k times it plus one of these is exact."""
INVERSE_LN_2 = 1.4426950408889634

LEAST_NORMAL = 2.0**-1022
LARGEST = 1.7976931348623157e308


@fragment
def cubic(r: float) -> float:
    """(ln(1 + r) - r + r^2 / 2) / r^3 for |r| < 2^-7, with an error below 2^-50: the series to r^5."""
    square = r * r
    return (1.0 / 3.0 - r * 0.25) + square * ((0.2 - r * (1.0 / 6.0)) + square * (1.0 / 7.0 - r * 0.125))


@fragment
def long_cubic(r: float) -> float:
    """As `cubic`, with an error below 2^-57: two more terms."""
    square = r * r
    more = (1.0 / 7.0 - r * 0.125) + square * (1.0 / 9.0 - r * 0.1)
    return (1.0 / 3.0 - r * 0.25) + square * ((0.2 - r * (1.0 / 6.0)) + square * more)


@fragment
def split(x: float) -> tuple[int, int, float]:
    """(k, i, z) for a normal number x > 0, with x = 2^k z and z in bin i of the table."""
    above = bits_of(x) - START
    k = above >> 52
    return k, (above >> 45) & 127, number_of(bits_of(x) - (k << 52))


@fragment
def near_quotient(z: float, inverse: float) -> tuple[float, float]:
    """Compute z * inverse - 1 in two parts, exactly: 26 and 27 bits of z, times 9 bits."""
    upper = head(z)
    a, b = upper * inverse - 1.0, (z - upper) * inverse
    r = a + b
    return r, b - (r - a)


@fragment
def log(x: float) -> float:
    """Natural logarithm."""
    if not LEAST_NORMAL <= x <= LARGEST:
        return far_log(x)
    exponent, i, z = split(x)
    k = float(exponent)
    r, rest = near_quotient(z, INVERSE[i])
    whole: float = k * LN_2 + LOG[i]
    first = whole + r
    low = ((whole - first) + r) + (rest + (k * LN_2_REST + LOG_REST[i]))
    total: float = first + (low + r * r * (r * cubic(r) - 0.5))
    return total


@kernel
def log_for_python(x: float) -> float:
    """As `log`, for callers that are not compiled: a kernel's machine code is kept, that of a fragment is not."""
    return log(x)


@kernel
def far_log(x: float) -> float:
    """Logarithm of a number that is not normal or not above 0."""
    if x == 0.0:
        return -math.inf
    if x < 0.0:
        return math.nan
    if not x <= LARGEST:
        return x
    a, b = log_parts(x)
    return a + b


@kernel
def log1p(x: float) -> float:
    """ln(1 + x): the logarithm of the rounded sum, corrected for the rounding error."""
    if not -1.0 < x < 1e18:
        return log(1.0 + x)
    if x == 0.0:
        return x  # keeps the sign of -0
    u = 1.0 + x
    lost = 1.0 - (u - x) if x >= 1.0 else x - (u - 1.0)
    k, i, z = split(u)
    r, rest = near_quotient(z, INVERSE[i])
    rest += lost * power_of_two(-k) * INVERSE[i]
    whole: float = float(k) * LN_2 + LOG[i]
    first = whole + r
    low = ((whole - first) + r) + (rest + (float(k) * LN_2_REST + LOG_REST[i]))
    total: float = first + (low + (r * r * (r * cubic(r) - 0.5) - r * rest))
    return total


@kernel
def log2(x: float) -> float:
    """Logarithm to the base 2."""
    if not LEAST_NORMAL <= x <= LARGEST:
        return far_log(x) * INVERSE_LN_2
    k, _, z = split(x)
    return float(k) + log(z) * INVERSE_LN_2


@kernel
def log_parts(x: float) -> tuple[float, float]:
    """Logarithm in two parts, 0 < x < inf, with a relative error of 2^-66; for `power`, which multiplies the error."""
    shift = 0.0
    if x < LEAST_NORMAL:
        x *= 2.0**54
        shift = 54.0
    exponent, i, z = split(x)
    k = float(exponent) - shift
    r, rest = near_quotient(z, INVERSE[i])
    whole: float = k * LN_2 + LOG[i]
    first = whole + r
    low = (whole - first) + r
    # -r^2 / 2 in two parts: the upper 26 bits of r squared are exact.
    upper = head(r)
    square = -0.5 * upper * upper
    second = first + square
    low += (first - second) + square
    low += rest + (k * LN_2_REST + LOG_REST[i])
    low -= 0.5 * (r - upper) * (r + upper) + r * rest
    low += r * r * r * long_cubic(r)
    total = second + low
    return total, (second - total) + low
