"""A linear forecast from the features, and from weights of the row's values and of their pairs.

The weights learn by a Kalman filter with a diagonal covariance.
"""

from typing import NamedTuple

from driftway.learners.auto.single_values.value_table import ValueTable, has_weight
from driftway.learners.contract import Array, field, fragment, kernel, scratch
from driftway.learners.numeric.vectors import dot

FIRST = 1.0
"""Initial variance of a weight, and its limit."""
DRIFT, LINEAR_DRIFT = 1e-3, 1e-5
"""Variance that a row adds to the weights of its values, and to those of the features as they are."""
FADING = 0.99
"""Decay per row of the variance of what the forecast leaves."""
LEAST = 1e-6
"""Least such variance, in units of the targets' variance."""


class LinearForecast(NamedTuple):
    """Memory of the forecast; y places of pairs, 0 if it does without."""

    weight: Array = field("f8[p]", "weights of the values")
    variance: Array = field("f8[p]", "their variances", start=FIRST)
    pair_weight: Array = field("f8[y]", "weights of the pairs of values")
    pair_variance: Array = field("f8[y]", "their variances", start=FIRST)
    linear: Array = field("f8[j]", "weights of the features as they are")
    linear_variance: Array = field("f8[j]", "their variances", start=FIRST)
    left: Array = field("f8[1]", "variance of what the forecast leaves", start=1.0)
    spread: Array = scratch("f8[1]", "variance of the forecast")


@kernel
def forecast(own: LinearForecast, table: ValueTable, pairs: ValueTable, z: Array) -> float:
    """Return the forecast of the row whose values were searched. Shapes: z f8[n + 1]."""
    own.spread[0] = 0.0
    for i in range(z.shape[0]):
        own.spread[0] += own.linear_variance[i] * z[i] * z[i]
    total = dot(own.linear, z) + sum_of(own.weight, own.variance, table, own.spread)
    if own.pair_weight.shape[0] > 0:
        total += sum_of(own.pair_weight, own.pair_variance, pairs, own.spread)
    return total


@fragment
def sum_of(weight: Array, variance: Array, table: ValueTable, spread: Array) -> float:
    """Return the sum of the weights of the row's values; add their variances to `spread`. Shapes: weight f8[p]."""
    total = 0.0
    for j in range(table.wanted.shape[0]):
        if has_weight(table, j):
            g = int(table.place[j])
            total += weight[g]
            spread[0] += variance[g]
    return total


@kernel
def learn(own: LinearForecast, table: ValueTable, pairs: ValueTable, z: Array, left: float) -> None:
    """Update all weights that took part in the forecast by what it left. Shapes: z f8[n + 1]."""
    spread = own.spread[0]
    share = 1.0 / (own.left[0] + spread)
    for i in range(z.shape[0]):
        k = own.linear_variance[i] * z[i]
        own.linear[i] += left * share * k
        own.linear_variance[i] = min(own.linear_variance[i] - share * k * k + LINEAR_DRIFT, FIRST)
    move(own.weight, own.variance, table, left, share)
    if own.pair_weight.shape[0] > 0:
        move(own.pair_weight, own.pair_variance, pairs, left, share)
    own.left[0] += (1.0 - FADING) * (max(left * left - spread, LEAST) - own.left[0])


@fragment
def move(weight: Array, variance: Array, table: ValueTable, left: float, share: float) -> None:
    """Update the weights of the row's values. Shapes: weight f8[p], variance f8[p]."""
    for j in range(table.wanted.shape[0]):
        if has_weight(table, j):
            g = int(table.place[j])
            k = variance[g]
            weight[g] += left * share * k
            variance[g] = min(k - share * k * k + DRIFT, FIRST)
