"""Experts of `auto` for regression in which each value of a feature has a weight of its own.

One forecasts the target, another what all other experts leave of it. Two more do the same and also have weights of
pairs of values, such as an hour on a weekday.

A mixture adds their forecasts to that of all others. It is the forecast while its recent error is the smaller one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto import stacking
from driftway.learners.auto.single_values import linear_forecast
from driftway.learners.auto.single_values.linear_forecast import FIRST, LinearForecast, forecast
from driftway.learners.auto.single_values.value_table import ValueTable, count, search, write_keys, write_pair_keys
from driftway.learners.auto.stacking import StackingState
from driftway.learners.contract import Array, field, fragment, kernel, part, scratch
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes

NAMES = "values_level", "values_left", "pairs_level", "pairs_left"
EXPERTS = len(NAMES)
PLACES, PAIR_PLACES = 4096, 16384
"""Values that have weights, of all features together, and pairs of values."""
PAIRED = 16
"""The first features, of whose pairs the values are counted."""
JUDGED = 0.999
"""Decay per row of the two errors that are compared."""
WORTH = 0.01
"""Share of the squared error that these experts must gain."""


class TargetValues(NamedTuple):
    """Memory of the experts, and of the mixture of them with all others."""

    table: Any = part(ValueTable, "which features have weights by value, and where these stand")
    pairs: Any = part(ValueTable, "the same of pairs of features", p="P", v="V")
    level: Any = part(LinearForecast, "forecast of the target", y="Y")
    left: Any = part(LinearForecast, "forecast of what all others leave", y="Y")
    pairs_level: Any = part(LinearForecast, "the first with weights of pairs", y="P")
    pairs_left: Any = part(LinearForecast, "the second with weights of pairs", y="P")
    mixing: Any = part(StackingState, "the mixture of the forecast of all others and theirs", E="i")
    loss: Array = field("f8[2]", "fading squared errors of that forecast, and of the mixture")
    mixed: Array = scratch("f8[1]", "forecast of the mixture")


def sizes(n: int, used: bool) -> Sizes:
    """Return the lengths in the shapes for n features."""
    return {
        "p": PLACES * used,
        "v": n * used,
        "P": PAIR_PLACES * (n > 1) * used,
        "V": pairs_of(n) * used,
        "Y": 0,
        "j": (n + 1) * used,
        "i": (1 + EXPERTS) * used,
    }


def pairs_of(n: int) -> int:
    """Return the number of pairs of features."""
    m = min(n, PAIRED)
    return m * (m - 1) // 2


def cost(n: int) -> int:
    """Multiplications that take as long as a row of n features."""
    return 60 * n + 30 * pairs_of(n)


@kernel
def add(values: TargetValues, x: Array, z: Array, others: float) -> float:
    """Return the forecast with these experts, or `others`, the forecast of all others, if it is the better one.

    Forecasts are distances from the targets' mean in deviations. Shapes: x f8[n] or f8[2 n], z f8[n + 1].
    """
    forecasts, table, pairs = values.mixing.forecasts, values.table, values.pairs
    forecasts[0] = others
    write_keys(table, x)
    if not search(table):
        return others
    write_pair_keys(pairs, table)
    search(pairs)
    forecasts[1] = forecast(values.level, table, pairs, z)
    forecasts[2] = others + forecast(values.left, table, pairs, z)
    forecasts[3] = forecast(values.pairs_level, table, pairs, z)
    forecasts[4] = others + forecast(values.pairs_left, table, pairs, z)
    values.mixed[0] = stacking.mix(values.mixing)
    return values.mixed[0] if is_better(values) else others


@fragment
def is_better(values: TargetValues) -> bool:
    """Whether the mixture is the forecast."""
    return values.loss[1] <= (1.0 - WORTH) * values.loss[0]


@kernel
def learn(values: TargetValues, z: Array, level: float) -> None:
    """Learn a target in standard deviations, of the row that `add` was called with last. Shapes: z f8[n + 1]."""
    teach(values, z, level)
    if values.table.used[0] == 1:
        update_mixing(values, level, False)


@fragment
def cache(values: TargetValues, cached_prediction: Array, place: int) -> None:
    """Cache the forecasts of a row from `place` on, NaN if there is only one. Shapes: cached_prediction f8[o]."""
    used = values.table.used[0] == 1
    for e in range(1 + EXPERTS):
        cached_prediction[place + e] = values.mixing.forecasts[e] if used else math.nan
    cached_prediction[place + 1 + EXPERTS] = values.mixed[0] if used else math.nan


@kernel
def update_delayed(values: TargetValues, level: float, cached_prediction: Array, place: int) -> None:
    """Update the mixture by the forecasts cached from `place` on, if these experts took part then.

    Shapes: cached_prediction f8[o].
    """
    if not math.isnan(cached_prediction[place]):
        for e in range(1 + EXPERTS):
            values.mixing.forecasts[e] = cached_prediction[place + e]
        values.mixed[0] = cached_prediction[place + 1 + EXPERTS]
        stacking.mix(values.mixing)
        update_mixing(values, level, True)


@kernel
def update_mixing(values: TargetValues, level: float, late: bool) -> None:
    """Compare the errors of what was forecast, and update the mixture, with the target in standard deviations."""
    without, mixed = level - values.mixing.forecasts[0], level - values.mixed[0]
    values.loss[0] += (1.0 - JUDGED) * (without * without - values.loss[0])
    values.loss[1] += (1.0 - JUDGED) * (mixed * mixed - values.loss[1])
    stacking.update_stacking(values.mixing, level, late)


@kernel
def teach(values: TargetValues, z: Array, level: float) -> None:
    """Update the weights that are used, and count the values. Shapes: z f8[n + 1]."""
    table, pairs, forecasts = values.table, values.pairs, values.mixing.forecasts
    if table.used[0] == 1:
        linear_forecast.learn(values.level, table, pairs, z, level - forecasts[1])
        linear_forecast.learn(values.left, table, pairs, z, level - forecasts[2])
        linear_forecast.learn(values.pairs_level, table, pairs, z, level - forecasts[3])
        linear_forecast.learn(values.pairs_left, table, pairs, z, level - forecasts[4])
        for c in range(pairs.wanted.shape[0]):
            g = count(pairs, c)
            if g >= 0:
                begin_weight(values.pairs_level.pair_weight, values.pairs_level.pair_variance, g)
                begin_weight(values.pairs_left.pair_weight, values.pairs_left.pair_variance, g)
    for j in range(table.wanted.shape[0]):
        g = count(table, j)
        if g >= 0:
            begin_weight(values.level.weight, values.level.variance, g)
            begin_weight(values.left.weight, values.left.variance, g)
            begin_weight(values.pairs_level.weight, values.pairs_level.variance, g)
            begin_weight(values.pairs_left.weight, values.pairs_left.variance, g)


@fragment
def begin_weight(weight: Array, variance: Array, g: int) -> None:
    """Set the weight of a value, or of a pair of values, to its start. Shapes: weight and variance f8[p]."""
    weight[g], variance[g] = 0.0, FIRST


def with_values(shares: Array, state: State) -> Array:
    """Return the shares of the other experts, f8[E], and behind them those of these; they sum to 1."""
    others, *own = state["values.mixing.share"].tolist()
    without, mixed = state["values.loss"]
    if mixed > (1.0 - WORTH) * without:
        others, own = 1.0, [0.0] * EXPERTS
    return np.concatenate([shares * others, own])
