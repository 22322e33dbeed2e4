"""The elementary functions against mpmath, and at the edges of their ranges."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary import error_function, exponential, logarithm, power, trigonometric
from tests.regenerate.elementary import COMMAND, PAGE, page
from tests.support.examples import repetitions

NAN, INF = math.nan, math.inf
TINY = 5e-324
DRAWS = 3000
DIGITS = 40
REDUCED_DIGITS = 380
"""Decimal digits needed to reduce the largest numbers modulo pi / 2."""


@kernel
def exp(x: float) -> float:
    return exponential.exp(x)


@kernel
def log(x: float) -> float:
    return logarithm.log(x)


FUNCTIONS = {
    "exp": (exp, mpmath.exp),
    "log": (log, mpmath.log),
    "log1p": (logarithm.log1p, lambda x: mpmath.log(1 + x)),
    "log2": (logarithm.log2, lambda x: mpmath.log(x) / mpmath.log(2)),
    "power": (power.power, lambda x, p: mpmath.exp(p * mpmath.log(x))),
    "erfc": (error_function.erfc, mpmath.erfc),
    "sin": (trigonometric.sin, mpmath.sin),
    "cos": (trigonometric.cos, mpmath.cos),
}


def even(low: float, high: float) -> Callable[[random.Random], tuple[float, ...]]:
    return lambda draw: (draw.uniform(low, high),)


def spread(low: float, high: float, sign: int = 0) -> Callable[[random.Random], tuple[float, ...]]:
    """Draw log-uniformly, with the given sign or with a random one."""
    return lambda draw: (math.exp(draw.uniform(math.log(low), math.log(high))) * (sign or draw.choice((-1, 1))),)


def about_one(draw: random.Random) -> tuple[float]:
    return (1.0 + spread(1e-15, 0.4)(draw)[0],)


def turns(most_bits: int) -> Callable[[random.Random], tuple[float, ...]]:
    """Draw numbers next to a multiple of pi / 2, where nearly all digits cancel."""
    return lambda draw: (float((draw.getrandbits(draw.randint(1, most_bits)) + 1) * mpmath.pi / 2),)


def powers(lowest: float, highest: float) -> Callable[[random.Random], tuple[float, ...]]:
    """Draw a number and an exponent with e^lowest < x^p < e^highest; half of the numbers are near 1."""

    def draw_both(draw: random.Random) -> tuple[float, float]:
        x = about_one(draw)[0] if draw.random() < 0.5 else spread(1e-300, 1e300, 1)(draw)[0]
        return (x, draw.uniform(lowest, highest) / math.log(x)) if x != 1.0 else (x, 2.0)

    return draw_both


CASES = [
    ("exp", even(-708.0, 709.7), 0.52),
    ("exp", spread(1e-300, 700.0), 0.52),
    ("exp", even(-745.1, -708.4), 0.8),
    ("log", spread(1e-307, 1.7e308, 1), 0.52),
    ("log", about_one, 0.52),
    ("log", spread(1e-322, 1e-308, 1), 0.52),
    ("log1p", spread(1e-300, 1e300, 1), 0.7),
    ("log1p", spread(1e-300, 0.999, -1), 0.7),
    ("log1p", even(-0.9, 3.0), 0.7),
    ("log2", spread(1e-307, 1.7e308, 1), 1.5),
    ("log2", about_one, 1.5),
    ("power", powers(-707.0, 709.0), 0.52),
    ("power", powers(-30.0, 30.0), 0.52),
    ("power", powers(-744.0, -708.4), 0.8),
    ("erfc", even(0.0, 26.5), 0.6),
    ("erfc", spread(1e-20, 26.5, 1), 0.6),
    ("erfc", even(26.6, 27.2), 0.8),
    ("erfc", even(-7.0, 0.0), 0.8),
    *(
        (name, arguments, 0.8)
        for name in ("sin", "cos")
        for arguments in (
            even(-30.0, 30.0),
            spread(1e-10, 2.0**20),
            turns(20),
            turns(60),
            spread(2.0**20, 1.7e308),
        )
    ),
]


def error_in_ulp(got: float, true: mpf) -> float:
    return float(abs(mpf(got) - true) / mpf(math.ulp(float(true)))) if math.isfinite(got) else INF


def worst(name: str, arguments: Callable[[random.Random], tuple[float, ...]], draws: int) -> tuple[float, object]:
    """Return the largest error over random arguments, and the arguments."""
    own, true = FUNCTIONS[name]
    draw = random.Random(name)
    found: tuple[float, object] = (0.0, None)
    with mpmath.workdps(REDUCED_DIGITS if name in ("sin", "cos") else DIGITS * (8 if name == "log1p" else 1)):
        for _ in range(draws):
            given = arguments(draw)
            error = error_in_ulp(own(*given), true(*map(mpf, given)))
            if error > found[0]:
                found = error, given
    return found


@pytest.mark.random_cases
@pytest.mark.parametrize(("name", "arguments", "most"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_error_is_below_what_is_documented(name, arguments, most):
    error, where = worst(name, arguments, repetitions(DRAWS))
    assert error <= most, f"{name}{where}: {error} ulp"


def test_an_error_of_one_bit_is_measured():
    with mpmath.workdps(DIGITS):
        assert error_in_ulp(math.nextafter(exp(0.3), 9.0), mpmath.exp(mpf(0.3))) > 0.52
        assert error_in_ulp(exp(0.3), mpmath.exp(mpf(0.3))) <= 0.5


def test_the_cosine_nearest_to_0_is_accurate():
    x = 6381956970095103.0 * 2.0**797
    with mpmath.workdps(REDUCED_DIGITS):
        assert error_in_ulp(trigonometric.cos(x), mpmath.cos(mpf(x))) < 0.8
        assert abs(mpmath.cos(mpf(x))) < 1e-18


@pytest.mark.parametrize("x", [0.0, -0.0, 1e-300, 0.7, -2.5, 1e5, -1e9, 1e300, INF, NAN])
def test_sine_and_cosine_together_have_the_bits_of_each(x):
    np.testing.assert_array_equal(trigonometric.sin_cos(x), (trigonometric.sin(x), trigonometric.cos(x)))


SPECIAL = {
    "exp": [
        (0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (-TINY, 1.0), (1e-17, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN),
        (710.0, INF),
        (709.782712893384, 1.7976931348622732e308), (709.782712893385, INF), (-745.133219101941, TINY), (-745.2, 0.0),
        (1e308, INF), (-1e308, 0.0), (-708.3964185322641, 2.2250738585072626e-308),
    ],
    "log": [
        (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-TINY, NAN), (INF, INF), (-INF, NAN), (NAN, NAN), (1.0, 0.0),
        (TINY, -744.4400719213812), (2.0**-1022, -708.3964185322641), (1.7976931348623157e308, 709.782712893384),
    ],
    "log1p": [
        (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY), (1e-20, 1e-20), (-1.0, -INF), (-1.5, NAN), (INF, INF),
        (-INF, NAN), (NAN, NAN), (1.0, 0.6931471805599453), (1e300, 690.7755278982137),
    ],
    "log2": [
        (0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN), (1.0, 0.0), (8.0, 3.0), (0.125, -3.0), (2.0**1023, 1023.0),
        (2.0**-1022, -1022.0), (TINY, -1074.0),
    ],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN), (27.3, 0.0), (-6.0, 2.0),
        (1e308, 0.0), (TINY, 1.0)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY), (1e-8, 1e-8), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_are_exact(name):
    own, _ = FUNCTIONS[name]
    got, reference = [own(x) for x, _ in SPECIAL[name]], [value for _, value in SPECIAL[name]]
    np.testing.assert_array_equal(got, reference)
    finite = [i for i, value in enumerate(reference) if not math.isnan(value)]
    assert [math.copysign(1.0, got[i]) for i in finite] == [math.copysign(1.0, reference[i]) for i in finite]


@pytest.mark.parametrize(
    ("x", "p", "expected"),
    [
        (0.0, 2.0, 0.0), (0.0, -2.0, INF), (0.0, 0.0, 1.0), (NAN, 0.0, 1.0), (1.0, NAN, 1.0), (INF, 2.0, INF),
        (INF, -2.0, 0.0), (0.5, INF, 0.0), (0.5, -INF, INF), (2.0, INF, INF), (2.0, -INF, 0.0), (-1.0, 2.0, NAN),
        (NAN, 2.0, NAN), (2.0, NAN, NAN), (0.3, 1.0, 0.3), (TINY, 1.0, TINY), (2.0, 1023.0, 2.0**1023),
        (2.0, 1024.0, INF),
        (2.0, -1074.0, TINY), (2.0, -1076.0, 0.0), (4.0, 0.5, 2.0), (1e300, 1e300, INF), (1e300, -1e300, 0.0),
        (0.5, 1e-320, 1.0), (2.0**-1074, 0.5, 2.0**-537), (0.7, 2.0, 0.7 * 0.7),
    ],
)  # fmt: skip
def test_special_cases_of_powers_are_exact(x, p, expected):
    np.testing.assert_array_equal(power.power(x, p), expected)


def test_the_generated_tables_are_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), f"make it anew with: {COMMAND}"
