"""An expert on single values: each value of a feature has a weight of its own, as an airport or a merchant needs it.

All other experts take a feature for a quantity: values close together mean almost the same. Where features are
categories numbered without order, they do not. Here a value is what it is equal to, in the row as it came: standardised
values of the same category differ from row to row, because the mean moves. The expert is logistic regression on these
weights and on the features as they are, by an extended Kalman filter with a diagonal covariance.

Which features have weights by value is decided by counting: those whose values return and are many. While there are
none, this expert takes no part, and scores are what they are without it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto.first_order import sigmoid
from driftway.learners.auto.mixing import MixingState, cache_scores, mix, restore_scores, update_mixing
from driftway.learners.auto.others import lead_over_others
from driftway.learners.auto.second_order import PROBIT
from driftway.learners.contract import Array, Counts, field, fragment, kernel, part, scratch
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.random import GOLDEN, Words, mixed_bits
from driftway.learners.numeric.vectors import dot

NAMES = ("values",)
EXPERTS = len(NAMES)
PLACES = 4096
"""Values that have a weight, of all features together."""
WEIGHTS = 2**18
"""Largest number of weights; with many classes there are fewer places."""
WAYS = 4
"""Places, one after the other, in which a value may stand."""
TRIAL = 1024
"""Labelled rows in which the values of each feature are counted."""
FEWEST = 3
"""Different values of a feature that has weights by value; fewer are told apart by the other experts."""
KNOWN, UNKNOWN = 0.7, 0.25
"""Share of rows whose value is known from which on these weights are used, and below which the trial has failed."""
SMOOTHING = 1.0 / 256.0
"""Share of the last row in that share."""
MOST_ROWS = 64.0
"""Rows without it, on average, that a value keeps its place among others."""
FIRST = 1.0
"""Initial variance of a weight, and its limit."""
DRIFT, LINEAR_DRIFT = 3e-3, 1e-5
"""Variance that a row adds to the weights of its values, and to those of the features as they are."""
FLATTEST = 0.02
"""Lower bound of the logistic loss's curvature."""
SUREST = 35.0
"""Limit of a class's distance from the best class in the mixture."""
ONE, HALF = np.uint64(1), np.uint64(32)


class ValueWeights(NamedTuple):
    """Memory of the expert, and of the mixture of it with all others; C = K, or with two classes C = 1."""

    key: Words = field("u8[g]", "hash of the feature and its value; 0 where there is none")
    rows_of: Array = field("f8[g]", "how often the value came, less what others needed the place for")
    weight: Array = field("f8[g, C]", "weights of the values")
    variance: Array = field("f8[g]", "their variances", start=FIRST)
    linear: Array = field("f8[C, b]", "weights of the features as they are")
    linear_variance: Array = field("f8[b]", "their variances", start=FIRST)
    rows: Counts = field("i8[1]", "labelled rows")
    values: Array = field("f8[v]", "values of each feature that got a place")
    known: Array = field("f8[v]", "in how many rows the feature's value was known, a fading mean")
    mixing: Any = part(MixingState, "the mixture of the score of all others and this one", E="i", M="j")
    place: Array = scratch("f8[v]", "where the row's values stand, or the first place that they may have")
    found: Array = scratch("f8[v]", "1 if the value was there")
    used: Array = scratch("f8[1]", "features of the row with weights by value")
    spread: Array = scratch("f8[1]", "variance of the margin")
    own: Array = scratch("f8[K]", "what this expert says of each class")
    before: Array = scratch("f8[K]", "the score of all others")
    by_class: Array = scratch("f8[K]", "1 for the row's class, minus the others' shares in what it is ahead of")


def sizes(n: int, C: int, used: bool) -> Sizes:
    """Return the lengths in the shapes for n features and C weights of each value."""
    g = min(PLACES, max(WEIGHTS // C, WAYS)) // WAYS * WAYS
    return {"g": g * used, "v": n * used, "b": (n + 1) * used, "i": 2 * used, "j": 4 * used}


def cost(n: int, C: int) -> int:
    """Multiplications that take as long as a row of n features."""
    return n * (30 + 4 * C)


@fragment
def is_counted(values: ValueWeights, j: int) -> bool:
    """Whether the values of a feature get places."""
    return values.rows[0] < TRIAL or (values.values[j] >= FEWEST and values.known[j] >= UNKNOWN)


@fragment
def is_used(values: ValueWeights, j: int) -> bool:
    """Whether a feature has weights by value."""
    return values.values[j] >= FEWEST and values.known[j] > KNOWN


@fragment
def key_of(value: float, j: int) -> np.uint64:
    """Return a hash of a feature and its value, which is never 0."""
    word = np.float64(value + 0.0).view(np.uint64)  # -0.0 is 0
    return np.uint64(mixed_bits(word + np.uint64(j + 1) * GOLDEN) | ONE)


@kernel
def search(values: ValueWeights, x: Array) -> None:
    """Find the places of the row's values, which are the last n numbers of x; the first that a new value may have.

    Shapes: x f8[n] or f8[2 n].
    """
    n, buckets = values.known.shape[0], np.uint64(values.key.shape[0] // WAYS)
    first, values.used[0] = x.shape[0] - n, 0.0
    for j in range(n):
        values.found[j] = 0.0
        if is_counted(values, j):
            key = key_of(x[first + j], j)
            place = WAYS * int((key >> HALF) % buckets)
            values.place[j] = place
            for g in range(place, place + WAYS):
                if values.key[g] == key:
                    values.place[j], values.found[j] = g, 1.0
            values.used[0] += 1.0 if is_used(values, j) else 0.0


@kernel
def add(values: ValueWeights, x: Array, z: Array, S: Array) -> None:
    """Mix this expert's score into that of all others, S. Shapes: x f8[n] or f8[2 n], z f8[n + 1], S f8[K]."""
    search(values, x)
    K, C, own, raw = S.shape[0], values.linear.shape[0], values.own, values.mixing.raw
    for c in range(K):
        values.before[c] = S[c]
    if values.used[0] == 0.0:
        return
    own[0] = 0.0
    for c in range(C):
        own[K - C + c] = dot(values.linear[c], z)
    spread = 0.0
    for i in range(z.shape[0]):
        spread += values.linear_variance[i] * z[i] * z[i]
    for j in range(values.known.shape[0]):
        if values.found[j] == 1.0 and is_used(values, j):
            g = int(values.place[j])
            spread += values.variance[g]
            for c in range(C):
                own[K - C + c] += values.weight[g, c]
    values.spread[0] = spread
    for c in range(K):
        raw[0, c], raw[1, c] = S[c], own[c] / math.sqrt(1.0 + PROBIT * spread)
    mix(values.mixing, S, SUREST)


@kernel
def learn(values: ValueWeights, x: Array, z: Array, S: Array, y: int) -> None:
    """Learn class y of the row that `add` has just seen. Shapes: x f8[n] or f8[2 n], z f8[n + 1], S f8[K]."""
    if values.used[0] > 0.0:
        update_mixing(values.mixing, S, y, False)
    teach(values, x, z, y)


@fragment
def cache(values: ValueWeights, cached_prediction: Array, place: int) -> None:
    """Cache both scores of a row from `place` on, NaN if there is only one. Shapes: cached_prediction f4[o]."""
    cache_scores(values.mixing.raw, 0, values.used[0] > 0.0, cached_prediction, place)


@kernel
def update_delayed(values: ValueWeights, S: Array, y: int, cached_prediction: Array, place: int) -> None:
    """Update the mixture with class y by the scores cached from `place` on; `teach` learns the rest.

    S is overwritten. Shapes: S f8[K], cached_prediction f4[o].
    """
    if not math.isnan(cached_prediction[place]):
        restore_scores(values.mixing.raw, 0, cached_prediction, place)
        mix(values.mixing, S, SUREST)
        update_mixing(values.mixing, S, y, True)


@kernel
def teach(values: ValueWeights, x: Array, z: Array, y: int) -> None:
    """Update the weights that are used with class y, and count the values. Shapes: as in `learn`."""
    if values.used[0] > 0.0:
        learn_weights(values, z, y)
    for j in range(values.known.shape[0]):
        if is_counted(values, j):
            g = int(values.place[j])
            if values.found[j] == 1.0:
                values.rows_of[g] = min(values.rows_of[g] + 1.0, MOST_ROWS)
            else:
                enter(values, g, key_of(x[x.shape[0] - values.known.shape[0] + j], j), j)
            values.known[j] += SMOOTHING * (values.found[j] - values.known[j])
    values.rows[0] += 1


@fragment
def enter(values: ValueWeights, g: int, key: np.uint64, j: int) -> None:
    """Give a value of feature j one of the places from g on, unless all are needed more."""
    least = g
    for other in range(g + 1, g + WAYS):
        if values.rows_of[other] < values.rows_of[least]:
            least = other
    g = least
    values.rows_of[g] -= 1.0
    if values.rows_of[g] < 0.0:
        values.key[g], values.rows_of[g], values.variance[g] = key, 1.0, FIRST
        for c in range(values.weight.shape[1]):
            values.weight[g, c] = 0.0
        values.values[j] += 1.0


@fragment
def learn_weights(values: ValueWeights, z: Array, y: int) -> None:
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
    for j in range(values.known.shape[0]):
        if values.found[j] == 1.0 and is_used(values, j):
            g = int(values.place[j])
            k = values.variance[g]
            for c in range(C):
                values.weight[g, c] += step * k * by_class[K - C + c]
            values.variance[g] = min(k - share * k * k + DRIFT, FIRST)


def with_values(shares: Array, state: State) -> Array:
    """Return the shares of the other experts, f8[E], and behind them that of this one; they sum to 1."""
    others, own = state["values.mixing.share"].tolist()
    return np.concatenate([shares * others, [own]])
