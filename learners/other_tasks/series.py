"""Common part of time series learners: the last values of the series or its differences, and their scale."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, field, fragment, integer, number, scratch
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.vectors import dot

LARGEST = 1e140
"""Largest target whose squares, of any difference and summed over any stream, cannot overflow."""
WILD = 30.0
"""Values beyond this many sigma are outliers, such as a sentinel or a broken sensor."""
STEADY = 30
"""Number of values after which sigma is reliable enough to detect outliers."""


class OfLags(Parameters):
    """Parameters shared by the family."""

    lags: int = integer(10, "Number of past targets that the forecast uses.", at_least=1, at_most=1000)
    radius: float = number(1.0, "c, largest size of a coefficient.", above=0.0, at_most=1e6)
    diff: int = integer(0, "D: work on the D-th differences of the targets (ARIMA).", at_least=0, at_most=10)


class Past(NamedTuple):
    """State of the series."""

    value: Array = field("f8[lags]", "h, the last targets or D-th differences, newest first; for wild ones forecasts")
    level: Array = field("f8[D]", "last difference of each order below D, the 0-th being the target itself")
    squares: Array = field("f8[1]", "sum of the squares of all values, wild ones as if they were `WILD` sigma")
    taken: Counts = field("i8[1]", "labelled rows taken in")
    now: Array = scratch(
        "f8[o]", "what `write_past` writes, while the values and levels of an earlier row stand in their place"
    )


def sizes(lags: int, diff: int) -> Sizes:
    """Return the lengths in the shapes of `Past`."""
    return {"lags": lags, "D": diff, "o": lags + diff + 1}


@fragment
def forecast(coefficient: Array, past: Past) -> float:
    """Forecast the next target: the next value from the last ones, plus the levels that undo the differences.

    Shapes: coefficient f8[lags].
    """
    s = dot(coefficient, past.value)
    for k in range(past.level.shape[0]):
        s += past.level[k]
    return s


@fragment
def values_in(past: Past) -> int:
    """Number of values so far; the first D targets only fill the levels."""
    return int(past.taken[0]) - past.level.shape[0]


@fragment
def scale_of(past: Past) -> float:
    """Sigma, the root of the mean square of all values; 1 if there are none or all are 0."""
    n = values_in(past)
    return math.sqrt(past.squares[0] / n) if n > 0 and past.squares[0] > 0.0 else 1.0


@fragment
def largest_of(past: Past) -> float:
    """Largest absolute value that is not an outlier."""
    return WILD * scale_of(past) if values_in(past) >= STEADY and past.squares[0] > 0.0 else math.inf


@fragment
def wild(y: float, past: Past) -> bool:
    """Whether the value of a target is an outlier; such a target is not learned."""
    value = y
    for k in range(past.level.shape[0]):
        value -= past.level[k]
    return abs(value) > largest_of(past)


@fragment
def scaled_error(y: float, s: float, past: Past, u: Array) -> float:
    """Write u = h / sigma, and return the error of the forecast in units of sigma. Shapes: u f8[lags].

    The levels cancel in s - y, which leaves gamma.u - d / sigma with d the new value.
    """
    sigma = scale_of(past)
    for i in range(u.shape[0]):
        u[i] = past.value[i] / sigma
    return (s - y) / sigma


@fragment
def take_in(y: float, coefficient: Array, past: Past) -> None:
    """Append a target, unless its absolute value is larger than `LARGEST`.

    An outlier is replaced by its forecast. It still counts in sigma, clipped, so that if all values stay as large from
    now on, sigma grows until they are no longer outliers. Shapes: coefficient f8[lags].
    """
    if not abs(y) <= LARGEST:
        return
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
    entry = value if abs(value) <= largest else dot(coefficient, past.value)
    for i in range(past.value.shape[0] - 1, 0, -1):
        past.value[i] = past.value[i - 1]
    past.value[0] = min(max(entry, -largest), largest)
    entering = min(max(value, -largest), largest)
    past.squares[0] += entering * entering


@fragment
def take_in_late(y: float, coefficient: Array, past: Past) -> None:
    """Append a late target to the latest ones, which `recall_past` had replaced. Shapes: coefficient f8[lags]."""
    read_past(past, past.now)
    take_in(y, coefficient, past)


@fragment
def cache_past(cached_prediction: Array, _parameters: Any, memory: Any) -> None:
    """Cache what a row was forecast from, and the number of targets. Shapes: cached_prediction f8[o]."""
    write_past(memory.past, cached_prediction)


@fragment
def recall_past(cached_prediction: Array, _parameters: Any, memory: Any) -> None:
    """Put back the values and levels that the row was forecast from.

    The coefficients must learn what follows from targets as old as those that they will forecast from.
    Shapes: cached_prediction f8[o].
    """
    write_past(memory.past, memory.past.now)
    read_past(memory.past, cached_prediction)


@fragment
def write_past(past: Past, written: Array) -> None:
    """Write the values, then the levels, then the number of targets. Shapes: written f8[o]."""
    lags = past.value.shape[0]
    for i in range(lags):
        written[i] = past.value[i]
    for k in range(past.level.shape[0]):
        written[lags + k] = past.level[k]
    written[written.shape[0] - 1] = past.taken[0]


@fragment
def read_past(past: Past, written: Array) -> None:
    """Read the values and levels that `write_past` wrote. Shapes: written f8[o]."""
    lags = past.value.shape[0]
    for i in range(lags):
        past.value[i] = written[i]
    for k in range(past.level.shape[0]):
        past.level[k] = written[lags + k]


@fragment
def weight_of(past: Past, written: Array) -> float:
    """Return what a late target counts: 1 over the targets that came since its row was forecast, itself included.

    These follow from much the same values, and say much the same. With full steps the error is up to eight times as
    large. Shapes: written f8[o].
    """
    return 1.0 / (1.0 + past.taken[0] - written[written.shape[0] - 1])


@fragment
def clip(coefficient: Array, radius: float) -> None:
    """Clip coefficients to [-radius, radius]. Shapes: coefficient f8[lags]."""
    for i in range(coefficient.shape[0]):
        coefficient[i] = min(max(coefficient[i], -radius), radius)
