"""sin and cos: x minus a multiple of pi/2, in two parts, and a polynomial on [-pi/4, pi/4].

Up to 2^20 the multiple of pi/2 is subtracted in pieces of 33 bits (Cody and Waite, Software Manual for the Elementary
Functions, 1980); beyond, x is multiplied by the digits of 2/pi that matter (Payne and Hanek, Radian reduction for
trigonometric functions, SIGNUM 18, 1983). Both are exact to 2^-53 of the result for every finite x. Error below 0.8
ulp.
"""

import math

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.numeric.elementary.tables import TWO_OVER_PI
from driftway.learners.numeric.elementary.words import bits_of, product_rest

TURNS_PER_UNIT = 0.6366197723675814
"""Quarter turns per radian: 2/pi."""
QUARTER_1, QUARTER_2, QUARTER_3, QUARTER_4 = (
    1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32,
)  # fmt: skip
"""pi/2 in pieces; the first three have 33 bits, so that their product with an integer below 2^20 is exact."""
QUARTER, QUARTER_REST = 1.5707963267948966, 6.123233995736766e-17
"""pi/2 in two parts of full length."""
WHOLE = 1.5 * 2.0**52
"""As in `exponential`."""
NEAR = 2.0**20
TINY = 2.0**-27
"""Below it sin x rounds to x."""
DIGIT = (1 << 24) - 1


@fragment
def sine(r: float, rest: float) -> float:
    """sin(r + rest), |r| <= pi/4: the terms after r are a Chebyshev fit with an error of 2e-17 r^3."""
    z = r * r
    p = (0.008333333333330948 - z * 0.0001984126983675854) + z * z * (
        (2.7557316102534617e-06 - z * 2.505113184128889e-08) + z * z * 1.5918129027234826e-10
    )
    return r + (r * z * (z * p - 0.16666666666666666) + rest * (1.0 - 0.5 * z))


@fragment
def cosine(r: float, rest: float) -> float:
    """cos(r + rest), |r| <= pi/4: a fit of the terms after 1 - r^2/2, which is kept in two parts."""
    z = r * r
    half = 0.5 * z
    p = (0.041666666666666664 - z * 0.0013888888888887398) + z * z * (
        (2.4801587298765665e-05 - z * 2.7557317271718644e-07)
        + z * z * (2.087614626607931e-09 - z * 1.1382632258093615e-11)
    )
    first = 1.0 - half
    return first + (((1.0 - first) - half) + (z * z * p - r * rest))


@fragment
def reduced(x: float) -> tuple[float, float, int]:
    """(r, rest, n) with x = n pi/2 + r + rest, n modulo 4, |r| <= pi/4."""
    if not abs(x) <= NEAR:
        return far_reduced(x)
    shifted = x * TURNS_PER_UNIT + WHOLE
    n, whole = bits_of(shifted) & 3, shifted - WHOLE
    a = x - whole * QUARTER_1
    b = whole * QUARTER_2
    first = a - b
    low = (a - first) - b
    # `first` may have cancelled almost completely, so the third piece needs its rounding error, too.
    c = whole * QUARTER_3
    second = first - c
    away = second - first
    low += (first - (second - away)) - (c + away)
    low -= whole * QUARTER_4
    r = second + low
    return r, (second - r) + low, n


@kernel
def far_reduced(x: float) -> tuple[float, float, int]:
    """As `reduced`, for |x| > 2^20: x = M 2^e, without the digits of 2/pi that contribute multiples of 4."""
    if not math.isfinite(x):
        return math.nan, 0.0, 0
    word = bits_of(x)
    mantissa, e = (word & ((1 << 52) - 1)) | (1 << 52), ((word >> 52) & 2047) - 1075
    skipped = (e - 2) // 24
    shift = e - 24 * skipped
    # M 2^shift, below 2^79, as four digits of 24 bits, the lowest first.
    m0 = (mantissa & DIGIT) << shift
    m1 = (((mantissa >> 24) & DIGIT) << shift) + (m0 >> 24)
    m2 = ((mantissa >> 48) << shift) + (m1 >> 24)
    m3 = m2 >> 24
    m0, m1, m2 = m0 & DIGIT, m1 & DIGIT, m2 & DIGIT
    # The product's digits from the 8th after the point to the one before it. Digit j of 2/pi is at index j + 1.
    carry, place = 0, skipped + 9
    first, second, third, quarters = 0, 0, 0, 0
    for i in range(8, -1, -1):
        total = carry + m1 * TWO_OVER_PI[place + 1] + m2 * TWO_OVER_PI[place + 2] + m3 * TWO_OVER_PI[place + 3]
        if i > 0:
            total += m0 * TWO_OVER_PI[place]
        carry, digit, place = total >> 24, total & DIGIT, place - 1
        if i == 0:
            quarters = digit & 3
        elif i <= 2:
            first += digit << (24 * (2 - i))
        elif i <= 4:
            second += digit << (24 * (4 - i))
        elif i <= 6:
            third += digit << (24 * (6 - i))
    if first >= 1 << 47:
        first -= 1 << 48
        quarters = (quarters + 1) & 3
    a, b = float(first) * 2.0**-48, float(second) * 2.0**-96
    part = a + b
    low = (b - (part - a)) + float(third) * 2.0**-144
    turn = part + low
    low = (part - turn) + low
    product = turn * QUARTER
    rest = product_rest(turn, QUARTER, product) + (turn * QUARTER_REST + low * QUARTER)
    r = product + rest
    r_rest = (product - r) + rest
    return (r, r_rest, quarters) if x > 0.0 else (-r, -r_rest, -quarters & 3)


@kernel
def sin(x: float) -> float:
    """Sine of x radians; nan for an infinite x."""
    if abs(x) < TINY:
        return x
    r, rest, n = reduced(x)
    value = cosine(r, rest) if n & 1 else sine(r, rest)
    return -value if n & 2 else value


@kernel
def cos(x: float) -> float:
    """Cosine of x radians; nan for an infinite x."""
    r, rest, n = reduced(x)
    value = sine(r, rest) if n & 1 else cosine(r, rest)
    return -value if (n + 1) & 2 else value


@kernel
def sin_cos(x: float) -> tuple[float, float]:
    """`sin` and `cos` of x from one reduction, bitwise equal to the single functions."""
    r, rest, n = reduced(x)
    s, c = sine(r, rest), cosine(r, rest)
    if n & 1:
        s, c = c, s
    return x if abs(x) < TINY else -s if n & 2 else s, -c if (n + 1) & 2 else c
