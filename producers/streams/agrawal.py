"""Agrawal's loan applicants: nine attributes of a person, ten rules that separate group A from group B."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import randint, uniform
from driftway.producers.streams.generator import GeneratorSpec, sample_stage
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array

NAMES = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
SALARY, COMMISSION, AGE, ELEVEL, CAR, ZIPCODE, HVALUE, HYEARS, LOAN = range(len(NAMES))
MAX_HVALUE = 1_350_000.0
"""1.5 times 900,000, for the most expensive zip code; MOA and River clip perturbed values at 135,000, which nearly all
of them then equal."""


@kernel
def within(value: float, low: float, high: float) -> bool:
    """Whether low <= value <= high, with both bounds in thousands."""
    return 1000.0 * low <= value <= 1000.0 * high


@kernel
def group_by_salary(age: float, salary: float) -> bool:
    """Group A of functions 2 and 6."""
    if age < 40.0:
        return within(salary, 50.0, 100.0)
    if age < 60.0:
        return within(salary, 75.0, 125.0)
    return within(salary, 25.0, 75.0)


@kernel
def educated(age: float, elevel: float) -> bool:
    """Group A of function 3: a level of education typical of the age."""
    if age < 40.0:
        return elevel <= 1.0
    if age < 60.0:
        return 1.0 <= elevel <= 3.0
    return elevel >= 2.0


@kernel
def group_by_education(age: float, elevel: float, salary: float) -> bool:
    """Group A of function 4."""
    fits = educated(age, elevel)
    if age < 40.0:
        return within(salary, 25.0, 75.0) if fits else within(salary, 50.0, 100.0)
    if age < 60.0:
        return within(salary, 50.0, 100.0) if fits else within(salary, 75.0, 125.0)
    return within(salary, 50.0, 100.0) if fits else within(salary, 25.0, 75.0)


@kernel
def group_by_loan(age: float, salary: float, loan: float) -> bool:
    """Group A of function 5."""
    fits = group_by_salary(age, salary)
    if age < 40.0:
        return within(loan, 100.0, 300.0) if fits else within(loan, 200.0, 400.0)
    if age < 60.0:
        return within(loan, 200.0, 400.0) if fits else within(loan, 300.0, 500.0)
    return within(loan, 300.0, 500.0) if fits else within(loan, 100.0, 300.0)


@kernel
def disposable_income(function: int, income: float, elevel: float, loan: float, equity: float) -> float:
    """Disposable income of functions 7 to 10; group A iff it is above 0."""
    left = 2.0 * income / 3.0
    if function == 7:
        return left - loan / 5.0 - 20_000.0
    if function == 8:
        return left - 5000.0 * elevel - 20_000.0
    if function == 9:
        return left - 5000.0 * elevel - loan / 5.0 - 10_000.0
    return left - 5000.0 * elevel + equity / 5.0 - 10_000.0


@kernel
def agrawal_class(function: int, x: Array) -> float:
    """0 for group A, 1 for group B, by function 1 to 10 of the paper. Shapes: x f8[9]."""
    age = x[AGE]
    if function == 1:
        first = age < 40.0 or age >= 60.0
    elif function == 2:
        first = group_by_salary(age, x[SALARY])
    elif function == 3:
        first = educated(age, x[ELEVEL])
    elif function == 4:
        first = group_by_education(age, x[ELEVEL], x[SALARY])
    elif function == 5:
        first = group_by_loan(age, x[SALARY], x[LOAN])
    elif function == 6:
        first = group_by_salary(age, x[SALARY] + x[COMMISSION])
    else:
        equity = x[HVALUE] * max(x[HYEARS] - 20.0, 0.0) / 10.0
        first = disposable_income(function, x[SALARY] + x[COMMISSION], x[ELEVEL], x[LOAN], equity) > 0.0
    return 0.0 if first else 1.0


@kernel
def draw_person(rng: NDArray[np.uint64], x: Array) -> None:
    """Draw the attributes in the order of `NAMES`; no commission for salaries of 75,000 or more. Shapes: x f8[9]."""
    x[SALARY] = 20_000.0 + 130_000.0 * uniform(rng)
    x[COMMISSION] = 0.0 if x[SALARY] >= 75_000.0 else 10_000.0 + 65_000.0 * uniform(rng)
    x[AGE] = 20.0 + randint(rng, 61)
    x[ELEVEL] = float(randint(rng, 5))
    x[CAR] = 1.0 + randint(rng, 20)
    x[ZIPCODE] = float(randint(rng, 9))
    x[HVALUE] = (9.0 - x[ZIPCODE]) * 100_000.0 * (0.5 + uniform(rng))
    x[HYEARS] = 1.0 + randint(rng, 30)
    x[LOAN] = 500_000.0 * uniform(rng)


@kernel
def perturbed(rng: NDArray[np.uint64], value: float, step: float, low: float, high: float) -> float:
    """`value` moved by U[-step, step], clipped to [low, high]."""
    return min(high, max(low, value + step * (2.0 * uniform(rng) - 1.0)))


@kernel
def perturb_person(rng: NDArray[np.uint64], p: float, x: Array) -> None:
    """Move the numeric attributes by up to p times their ranges; ages and years stay whole numbers. Shapes: x f8[9]."""
    x[SALARY] = perturbed(rng, x[SALARY], p * 130_000.0, 20_000.0, 150_000.0)
    if x[COMMISSION] > 0.0:
        x[COMMISSION] = perturbed(rng, x[COMMISSION], p * 65_000.0, 10_000.0, 75_000.0)
    x[AGE] = math.floor(0.5 + perturbed(rng, x[AGE], p * 60.0, 20.0, 80.0))
    x[HVALUE] = perturbed(rng, x[HVALUE], p * (9.0 - x[ZIPCODE]) * 100_000.0, 0.0, MAX_HVALUE)
    x[HYEARS] = math.floor(0.5 + perturbed(rng, x[HYEARS], p * 29.0, 1.0, 30.0))
    x[LOAN] = perturbed(rng, x[LOAN], p * 500_000.0, 0.0, 500_000.0)


@kernel
def fill_agrawal(
    rng: NDArray[np.uint64],
    functions: NDArray[np.int64],
    perturbation: float,
    balance: int,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; the class is that of the person before the perturbation.

    Shapes: rng u8[4], functions i8[stages], X f8[n, 9], y f8[n]. With `balance` persons are redrawn until the
    classes are 1, 0, 1, ... in turn. A perturbation of 0 is not drawn.
    """
    for i in range(X.shape[0]):
        t = start + i
        function = functions[functions.shape[0] * t // length]
        while True:
            draw_person(rng, X[i])
            y[i] = agrawal_class(function, X[i])
            if balance == 0 or y[i] != float(t % 2):
                break
        if perturbation > 0.0:
            perturb_person(rng, perturbation, X[i])


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    functions = np.array(values["functions"])
    fill_agrawal(rng, functions, values["perturbation"], values["balance"], values["rows"], start, X, y)


RECIPE = GeneratorSpec(
    name="agrawal",
    summary="Agrawal's loan functions: class 0 = group A, by salary, commission, age, level of education (code 0 to "
    "4), car (1 to 20), zip code (0 to 8), value and years of the house, and loan; one of ten functions per stage.",
    source="Agrawal, Imielinski and Swami, Database Mining: A Performance Perspective, IEEE TKDE 5(6), 1993; zip "
    "codes, perturbation, balance and class 0 as MOA, but a perturbed house value is clipped at 1,350,000, not 135,000 "
    "(River has commissions up to 85,000, houses worth one zip code less, classes 0 and 1 exchanged in functions 1 to "
    "6, and function 5 asks for salaries in place of loans)",
    options=(
        option("rows", 40_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option(
            "functions", (1, 2, 3, 4), "integers", low=1, high=10, meaning="the paper's function number, one per stage"
        ),
        option(
            "perturbation",
            0.05,
            "number",
            low=0,
            high=1,
            meaning="largest perturbation of a number, as a share of its range",
        ),
        option("balance", 0, "integer", low=0, high=1, meaning="1: the same number of rows of both classes"),
    ),
    shape=lambda values: (len(NAMES), len(values["functions"])),
    memory=lambda _: 0,
    feature_names=NAMES,
    fill=_fill,
    concepts=lambda values: values["functions"],
    sample=sample_stage(_fill, "functions"),
)
