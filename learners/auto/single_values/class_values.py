"""An expert of `auto` for classification: each value of a feature has a weight of its own.

It is logistic regression on these weights and on the features as they are, by an extended Kalman filter with a diagonal
covariance.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto.first_order import sigmoid
from driftway.learners.auto.mixing import MixingState, cache_scores, mix, restore_scores, update_mixing
from driftway.learners.auto.others import lead_over_others
from driftway.learners.auto.second_order import PROBIT
from driftway.learners.auto.single_values.value_table import WAYS, ValueTable, count, has_weight, search, write_keys
from driftway.learners.contract import Array, field, fragment, kernel, part, scratch
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.vectors import dot

NAMES = ("values",)
EXPERTS = len(NAMES)
PLACES = 4096
"""Values that have a weight for each class, of all features together."""
WEIGHTS = 2**18
"""Largest number of weights; with many classes there are fewer places."""
FIRST = 1.0
"""Initial variance of a weight, and its limit."""
DRIFT, LINEAR_DRIFT = 3e-3, 1e-5
"""Variance that a row adds to the weights of its values, and to those of the features as they are."""
FLATTEST = 0.02
"""Lower bound of the logistic loss's curvature."""
SUREST = 35.0
"""Limit of a class's distance from the best class in the mixture."""


class ClassValues(NamedTuple):
    """Memory of the expert, and of the mixture of it with all others; C = K, or with two classes C = 1."""

    table: Any = part(ValueTable, "which features have weights by value, and where these stand")
    weight: Array = field("f8[p, C]", "weights of the values")
    variance: Array = field("f8[p]", "their variances", start=FIRST)
    linear: Array = field("f8[C, b]", "weights of the features as they are")
    linear_variance: Array = field("f8[b]", "their variances", start=FIRST)
    mixing: Any = part(MixingState, "the mixture of the score of all others and this one", E="i", M="j")
    spread: Array = scratch("f8[1]", "variance of the margin")
    own: Array = scratch("f8[K]", "this expert's scores of each class")
    before: Array = scratch("f8[K]", "the score of all others")
    by_class: Array = scratch("f8[K]", "1 for the row's class, minus the others' shares in what it is ahead of")


def sizes(n: int, C: int, used: bool) -> Sizes:
    """Return the lengths in the shapes for n features and C weights of each value."""
    places = min(PLACES, max(WEIGHTS // C, WAYS)) // WAYS * WAYS
    return {"p": places * used, "v": n * used, "b": (n + 1) * used, "i": 2 * used, "j": 4 * used}


def cost(n: int, C: int) -> int:
    """Multiplications that take as long as a row of n features."""
    return n * (30 + 4 * C)


@kernel
def add(values: ClassValues, x: Array, z: Array, S: Array) -> None:
    """Mix this expert's score into that of all others, S. Shapes: x f8[n] or f8[2 n], z f8[n + 1], S f8[K]."""
    K, C, own, raw = S.shape[0], values.linear.shape[0], values.own, values.mixing.raw
    for c in range(K):
        values.before[c] = S[c]
    write_keys(values.table, x)
    if not search(values.table):
        return
    own[0] = 0.0
    for c in range(C):
        own[K - C + c] = dot(values.linear[c], z)
    spread = 0.0
    for i in range(z.shape[0]):
        spread += values.linear_variance[i] * z[i] * z[i]
    for j in range(values.table.known.shape[0]):
        if has_weight(values.table, j):
            g = int(values.table.place[j])
            spread += values.variance[g]
            for c in range(C):
                own[K - C + c] += values.weight[g, c]
    values.spread[0] = spread
    for c in range(K):
        raw[0, c], raw[1, c] = S[c], own[c] / math.sqrt(1.0 + PROBIT * spread)
    mix(values.mixing, S, SUREST)


@kernel
def learn(values: ClassValues, z: Array, S: Array, y: int) -> None:
    """Learn class y of the row that `add` was called with last. Shapes: z f8[n + 1], S f8[K]."""
    if values.table.used[0] == 1:
        update_mixing(values.mixing, S, y, False)
    teach(values, z, y)


@fragment
def cache(values: ClassValues, cached_prediction: Array, place: int) -> None:
    """Cache both scores of a row from `place` on, NaN if there is only one. Shapes: cached_prediction f4[o]."""
    cache_scores(values.mixing.raw, 0, values.table.used[0] == 1, cached_prediction, place)


@kernel
def update_delayed(values: ClassValues, S: Array, y: int, cached_prediction: Array, place: int) -> None:
    """Update the mixture with class y by the scores cached from `place` on; `teach` learns the rest.

    S is overwritten. Shapes: S f8[K], cached_prediction f4[o].
    """
    if not math.isnan(cached_prediction[place]):
        restore_scores(values.mixing.raw, 0, cached_prediction, place)
        mix(values.mixing, S, SUREST)
        update_mixing(values.mixing, S, y, True)


@kernel
def teach(values: ClassValues, z: Array, y: int) -> None:
    """Update the weights that are used with class y, and count the values. Shapes: as in `learn`."""
    if values.table.used[0] == 1:
        learn_weights(values, z, y)
    for j in range(values.table.known.shape[0]):
        g = count(values.table, j)
        if g >= 0:
            values.variance[g] = FIRST
            for c in range(values.weight.shape[1]):
                values.weight[g, c] = 0.0


@fragment
def learn_weights(values: ClassValues, z: Array, y: int) -> None:
    """Update all weights that took part in the row's score. Shapes: z f8[n + 1]."""
    C, by_class, spread = values.linear.shape[0], values.by_class, values.spread[0]
    p = sigmoid(lead_over_others(values.own, y, by_class) / math.sqrt(1.0 + PROBIT * spread))
    h = max(p * (1.0 - p), FLATTEST)
    share = 1.0 / (1.0 / h + spread)
    step = (1.0 - p) / h * share
    if C > 1:
        step *= 0.5
    K = by_class.shape[0]
    for i in range(z.shape[0]):
        k = values.linear_variance[i] * z[i]
        for c in range(C):
            values.linear[c, i] += step * k * by_class[K - C + c]
        values.linear_variance[i] = min(values.linear_variance[i] - share * k * k + LINEAR_DRIFT, FIRST)
    for j in range(values.table.known.shape[0]):
        if has_weight(values.table, j):
            g = int(values.table.place[j])
            k = values.variance[g]
            for c in range(C):
                values.weight[g, c] += step * k * by_class[K - C + c]
            values.variance[g] = min(k - share * k * k + DRIFT, FIRST)


def with_values(shares: Array, state: State) -> Array:
    """Return the shares of the other experts, f8[E], and behind them that of this one; they sum to 1."""
    others, own = state["values.mixing.share"].tolist()
    return np.concatenate([shares * others, [own]])
