"""Two experts of `auto` for regression in which each value of a feature has a weight of its own.

One forecasts the target, the other what all other experts leave of it. Both add the weights of the row's values to a
linear forecast from the features as they are. Each learns its weights by a Kalman filter with a diagonal covariance.

A mixture adds their forecasts to that of all others. It is the forecast while its recent error is the smaller one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto import stacking
from driftway.learners.auto.single_values import value_table
from driftway.learners.auto.single_values.value_table import ValueTable, count, has_weight, search
from driftway.learners.auto.stacking import StackingState
from driftway.learners.contract import Array, field, fragment, kernel, part, scratch
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.vectors import dot

NAMES = "values_level", "values_left"
EXPERTS = len(NAMES)
FIRST = 1.0
"""Initial variance of a weight, and its limit."""
DRIFT, LINEAR_DRIFT = 1e-3, 1e-5
"""Variance that a row adds to the weights of its values, and to those of the features as they are."""
FADING = 0.99
"""Decay per row of the variance of what an expert leaves."""
LEAST = 1e-6
"""Least such variance, in units of the targets' variance."""
JUDGED = 0.999
"""Decay per row of the two errors that are compared."""
WORTH = 0.01
"""Share of the squared error that these experts must gain."""


class TargetValues(NamedTuple):
    """Memory of the experts, and of the mixture of them with all others."""

    table: Any = part(ValueTable, "which features have weights by value, and where these stand")
    weight: Array = field("f8[2, p]", "weights of the values")
    variance: Array = field("f8[2, p]", "their variances", start=FIRST)
    linear: Array = field("f8[X, j]", "weights of the features as they are; X = 2, or 0 without these experts")
    linear_variance: Array = field("f8[X, j]", "their variances", start=FIRST)
    left: Array = field("f8[X]", "variance of what each of them leaves", start=1.0)
    mixing: Any = part(StackingState, "the mixture of the forecast of all others and theirs", E="i")
    loss: Array = field("f8[2]", "fading squared errors of that forecast, and of the mixture")
    spread: Array = scratch("f8[2]", "variances of the two forecasts")
    mixed: Array = scratch("f8[1]", "forecast of the mixture")


def sizes(n: int, used: bool) -> Sizes:
    """Return the lengths in the shapes for n features."""
    return {**value_table.sizes(n, EXPERTS, used), "X": EXPERTS * used, "j": (n + 1) * used, "i": (1 + EXPERTS) * used}


def cost(n: int) -> int:
    """Multiplications that take as long as a row of n features."""
    return 40 * n


@kernel
def add(values: TargetValues, x: Array, z: Array, others: float) -> float:
    """Return the forecast with these experts, or `others`, the forecast of all others, if it is the better one.

    Forecasts are distances from the targets' mean in deviations. Shapes: x f8[n] or f8[2 n], z f8[n + 1].
    """
    forecasts = values.mixing.forecasts
    forecasts[0] = others
    if not search(values.table, x):
        return others
    for e in range(EXPERTS):
        forecast, spread = dot(values.linear[e], z), 0.0
        for i in range(z.shape[0]):
            spread += values.linear_variance[e, i] * z[i] * z[i]
        for j in range(values.table.known.shape[0]):
            if has_weight(values.table, j):
                g = int(values.table.place[j])
                forecast += values.weight[e, g]
                spread += values.variance[e, g]
        forecasts[1 + e] = forecast + (others if e == 1 else 0.0)
        values.spread[e] = spread
    values.mixed[0] = stacking.mix(values.mixing)
    return values.mixed[0] if is_better(values) else others


@fragment
def is_better(values: TargetValues) -> bool:
    """Whether the mixture is the forecast."""
    return values.loss[1] <= (1.0 - WORTH) * values.loss[0]


@kernel
def learn(values: TargetValues, x: Array, z: Array, level: float) -> None:
    """Learn a target in standard deviations, of the row that `add` has seen. Shapes: as in `add`."""
    teach(values, x, z, level)
    if values.table.used[0] > 0.0:
        update_mixing(values, level, False)


@fragment
def cache(values: TargetValues, cached_prediction: Array, place: int) -> None:
    """Cache the forecasts of a row from `place` on, NaN if there is only one. Shapes: cached_prediction f8[o]."""
    used = values.table.used[0] > 0.0
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
def teach(values: TargetValues, x: Array, z: Array, level: float) -> None:
    """Update the weights that are used, and count the values. Shapes: as in `add`."""
    if values.table.used[0] > 0.0:
        for e in range(EXPERTS):
            learn_weights(values, e, z, level - values.mixing.forecasts[1 + e])
    for j in range(values.table.known.shape[0]):
        g = count(values.table, x, j)
        if g >= 0:
            for e in range(EXPERTS):
                values.weight[e, g], values.variance[e, g] = 0.0, FIRST
    values.table.rows[0] += 1


@fragment
def learn_weights(values: TargetValues, e: int, z: Array, left: float) -> None:
    """Update all weights that took part in the forecast of one of these experts. Shapes: z f8[n + 1]."""
    spread = values.spread[e]
    share = 1.0 / (values.left[e] + spread)
    for i in range(z.shape[0]):
        k = values.linear_variance[e, i] * z[i]
        values.linear[e, i] += left * share * k
        values.linear_variance[e, i] = min(values.linear_variance[e, i] - share * k * k + LINEAR_DRIFT, FIRST)
    for j in range(values.table.known.shape[0]):
        if has_weight(values.table, j):
            g = int(values.table.place[j])
            k = values.variance[e, g]
            values.weight[e, g] += left * share * k
            values.variance[e, g] = min(k - share * k * k + DRIFT, FIRST)
    own = max(left * left - spread, LEAST)
    values.left[e] += (1.0 - FADING) * (own - values.left[e])


def with_values(shares: Array, state: State) -> Array:
    """Return the shares of the other experts, f8[E], and behind them those of these; they sum to 1."""
    others, *own = state["values.mixing.share"].tolist()
    without, mixed = state["values.loss"]
    if mixed > (1.0 - WORTH) * without:
        others, own = 1.0, [0.0] * EXPERTS
    return np.concatenate([shares * others, own])
