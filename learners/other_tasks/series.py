"""What the learners of a series share: its last values, or those of its differences, and its scale."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, field, fragment, integer, number
from driftway.learners.numeric.vectors import dot

LARGEST = 1e140
"""Beyond this a target's square, summed over any stream and any difference, might overflow."""
WILD = 30.0
"""A value beyond so many sigma is no part of the series: a sentinel, a broken sensor."""
STEADY = 30
"""Values after which sigma is trusted to tell what is wild."""


class OfLags(Parameters):
    """Parameters that all of the family have."""

    lags: int = integer(10, "Past targets that the forecast is made of.", at_least=1, at_most=1000)
    radius: float = number(1.0, "c, largest size of a coefficient.", above=0.0, at_most=1e6)
    diff: int = integer(0, "D: work on the D-th differences of the targets (ARIMA).", at_least=0, at_most=10)


class Past(NamedTuple):
    """What is remembered of the series."""

    value: Array = field("f8[lags]", "h, the last targets or D-th differences, newest first; for wild ones forecasts")
    level: Array = field("f8[D]", "last difference of each order below D, the 0-th being the target itself")
    squares: Array = field("f8[1]", "sum of the squares of all values, wild ones as if they were `WILD` sigma")
    taken: Counts = field("i8[1]", "labelled rows taken in")


@fragment
def forecast(coefficient: Array, past: Past) -> float:
    """The next target: what the last values say of the next one, and the levels that it is a difference of.

    Shapes: coefficient f8[lags].
    """
    s = dot(coefficient, past.value)
    for k in range(past.level.shape[0]):
        s += past.level[k]
    return s


@fragment
def values_in(past: Past) -> int:
    """How many values there were; the first D targets only fill the levels."""
    return int(past.taken[0]) - past.level.shape[0]


@fragment
def scale_of(past: Past) -> float:
    """Sigma, the root of the mean square of all values; 1 if there is none, or none but zeros."""
    n = values_in(past)
    return math.sqrt(past.squares[0] / n) if n > 0 and past.squares[0] > 0.0 else 1.0


@fragment
def largest_of(past: Past) -> float:
    """How far from 0 a value may be before it is wild."""
    return WILD * scale_of(past) if values_in(past) >= STEADY and past.squares[0] > 0.0 else math.inf


@fragment
def wild(y: float, past: Past) -> bool:
    """Whether the value that a target brings is no part of the series; such a target is not learned."""
    value = y
    for k in range(past.level.shape[0]):
        value -= past.level[k]
    return abs(value) > largest_of(past)


@fragment
def scaled_error(y: float, s: float, past: Past, u: Array) -> float:
    """Write u = h / sigma, and give the forecast's error in units of sigma. Shapes: u f8[lags].

    The levels fall out of s - y: what is left is gamma.u - d / sigma, d the new value.
    """
    sigma = scale_of(past)
    for i in range(u.shape[0]):
        u[i] = past.value[i] / sigma
    return (s - y) / sigma


@fragment
def take_in(y: float, coefficient: Array, past: Past) -> None:
    """Make a target, at most `LARGEST`, the last one.

    What was forecast stands for a wild value. It still counts in sigma, bounded: where all values are as large from
    now on sigma grows until they are not wild. Shapes: coefficient f8[lags].
    """
    n, largest = min(int(past.taken[0]), past.level.shape[0]), largest_of(past)
    value = y
    for k in range(n):
        difference = value - past.level[k]
        past.level[k] = value
        value = difference
    past.taken[0] += 1
    if n < past.level.shape[0]:
        past.level[n] = value
        return
    stands = value if abs(value) <= largest else dot(coefficient, past.value)
    for i in range(past.value.shape[0] - 1, 0, -1):
        past.value[i] = past.value[i - 1]
    past.value[0] = min(max(stands, -largest), largest)
    entering = min(max(value, -largest), largest)
    past.squares[0] += entering * entering


@fragment
def clip(coefficient: Array, radius: float) -> None:
    """Back into the box. Shapes: coefficient f8[lags]."""
    for i in range(coefficient.shape[0]):
        coefficient[i] = min(max(coefficient[i], -radius), radius)
