"""Random forests of incremental trees for classes: bagging, random features, Hoeffding's bound on the Gini index.

As in adaptive random forests (Gomes et al., Machine Learning 106, 2017), a tree whose error has risen is reset, and
trees are weighted by their accuracy. Two things differ: features are binned, so that a leaf has counts instead of
normal distributions, and old rows of a leaf fade.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.auto.forests.trees import (
    FEWEST,
    FULL,
    OBSERVED,
    Columns,
    Trees,
    bagging_weight,
    begin_tree,
    count_gain,
    find_leaves,
    may_split,
    power,
    split,
)
from driftway.learners.contract import Array, field, fragment, kernel, part, scratch, separate_kernel
from driftway.learners.numeric.elementary.logarithm import log

TREES = 16
BINS = 32
PRIOR = 0.1
"""Weight of each class in a leaf without rows."""
SMOOTHING = 0.01
"""Share of the last row in a tree's accuracy."""
LEAST_GAIN = 1e-3
INHERITED = 50.0
"""Largest weight of the classes that a child begins with."""
EVERY = 64
"""Rows between two looks at a tree's error."""
FAR = 6.0
"""Standard deviations of a tree's error above its least one at which the tree begins anew."""
FAR_RECENT = 5.0
"""The same of its recent error above that since it began."""
STEADY = 200.0
"""Rows after which the recent error is that of the tree, not of the one before."""


class Growth(NamedTuple):
    """When a leaf splits, and how fast it forgets."""

    grace: float
    """Weight of rows between two attempts."""
    confidence: float
    """ln(1 / delta) / 8: delta is the probability that a split is not the best; the Gini index has range 1 / 2."""
    tie: float
    """Bound below which the best split is taken however small its lead is."""
    keep: float
    """Decay of a leaf's classes per row that it learns."""


CAREFUL = Growth(100.0, 0.8635, 0.03, 0.997)
MODERATE = Growth(25.0, 0.5756, 0.1, 0.99)
EAGER = Growth(8.0, 0.3745, 0.25, 0.98)
"""delta is 0.001, 0.01 and 0.05."""


class ClassForest(NamedTuple):
    """Memory of a forest for K classes."""

    trees: Any = part(Trees, "the trees")
    classes: Array = field("f4[T, N, K]", "rows of each class in a leaf, old ones discounted")
    counts: Any = field("u2[T, A, m, B, K]", "rows of each class by bin of a feature that a slot observes")
    totals: Array = field("f8[T, A, K]", "rows of each class that a slot has observed")
    accuracy: Array = field("f8[T]", "of each tree, in a fading mean", start=0.5)
    rows: Array = field("f8[T]", "rows since a tree began")
    errors: Array = field("f8[T]", "how many of them it got wrong")
    least: Array = field("f8[T, 2]", "its least error and the standard deviation of that", start=1.0)
    left: Array = scratch("f8[K]", "rows of each class up to a bin")


def cost(n: int, K: int) -> int:
    """Multiplications that take as long as a row of n features and K classes."""
    return TREES * (100 + 8 * min(n, OBSERVED) + 8 * K) + n


@separate_kernel
def predict(forest: ClassForest, bins: Array, out: Array) -> None:
    """Write the logarithm of each class's probability. Shapes: bins f8[w], out f8[K]."""
    find_leaves(forest.trees, bins)
    T, K = forest.accuracy.shape[0], out.shape[0]
    for c in range(K):
        out[c] = 0.0
    for t in range(T):
        classes = forest.classes[t, int(forest.trees.leaf[t])]
        total = PRIOR * K
        for c in range(K):
            total += classes[c]
        weight = forest.accuracy[t] * forest.accuracy[t] * forest.accuracy[t] / total
        for c in range(K):
            out[c] += weight * (classes[c] + PRIOR)
    total = 0.0
    for c in range(K):
        total += out[c]
    for c in range(K):
        out[c] = log(out[c] / total) if out[c] > 0.0 else 0.0


@separate_kernel
def learn(forest: ClassForest, bins: Array, y: int, growth: Growth) -> None:
    """Learn the row for which `predict` has just found the leaves. Shapes: bins f8[w]."""
    columns = Columns(0, bins.shape[0])
    for t in range(forest.accuracy.shape[0]):
        if forest.trees.nodes[t] == 0:
            begin_tree(forest.trees, t, columns)
        elif has_drifted(forest, t, y):
            restart(forest, t, columns)
        weight = bagging_weight(forest.trees.words)
        if weight > 0:
            learn_in_leaf(forest, t, bins, y, weight, growth)


@fragment
def has_drifted(forest: ClassForest, t: int, y: int) -> bool:
    """Count whether tree t predicts class y; return whether its error has risen.

    That is so if it is far above its least (Gama et al.'s DDM), or the error of recent rows far above that of all.
    """
    classes, top = forest.classes[t, int(forest.trees.leaf[t])], 0
    for c in range(1, classes.shape[0]):
        if classes[c] > classes[top]:
            top = c
    right = 1.0 if top == y else 0.0
    forest.accuracy[t] += SMOOTHING * (right - forest.accuracy[t])
    forest.rows[t] += 1.0
    forest.errors[t] += 1.0 - right
    if forest.rows[t] % EVERY != 0.0:
        return False
    error = forest.errors[t] / forest.rows[t]
    deviation, least = math.sqrt(error * (1.0 - error) / forest.rows[t]), forest.least[t]
    if error + deviation < least[0] + least[1]:
        least[0], least[1] = error, deviation
    rise = 1.0 - forest.accuracy[t] - error
    of_recent = error * (1.0 - error) * SMOOTHING / (2.0 - SMOOTHING)
    if forest.rows[t] > STEADY and rise > 0.0 and rise * rise > FAR_RECENT * FAR_RECENT * of_recent:
        return True
    return error + deviation > least[0] + FAR * max(least[1], 1.0 / forest.rows[t])


@kernel
def restart(forest: ClassForest, t: int, columns: Columns) -> None:
    """Let tree t begin anew."""
    begin_tree(forest.trees, t, columns)
    clear_slot(forest, t, 0)
    for c in range(forest.classes.shape[2]):
        forest.classes[t, 0, c] = 0.0
    forest.trees.leaf[t] = 0.0
    forest.rows[t] = forest.errors[t] = 0.0
    forest.least[t, 0] = forest.least[t, 1] = 1.0


@kernel
def clear_slot(forest: ClassForest, t: int, a: int) -> None:
    """Set the counts of a slot to 0."""
    counts, totals = forest.counts[t, a], forest.totals[t, a]
    for i in range(counts.shape[0]):
        for b in range(counts.shape[1]):
            for c in range(counts.shape[2]):
                counts[i, b, c] = 0
    for c in range(totals.shape[0]):
        totals[c] = 0.0


@fragment
def learn_in_leaf(forest: ClassForest, t: int, bins: Array, y: int, weight: int, growth: Growth) -> None:
    """Learn a row in the leaf of tree t, and split it if it is time to. Shapes: bins f8[w]."""
    trees, node = forest.trees, int(forest.trees.leaf[t])
    classes, a = forest.classes[t, node], int(trees.slot[t, node]) - 1
    keep = power(growth.keep, weight)
    for c in range(classes.shape[0]):
        classes[c] *= keep
    classes[y] += weight
    if a < 0:
        return
    observed, counts = trees.observed[t, a], forest.counts[t, a]
    trees.seen[t, a] += weight
    forest.totals[t, a, y] += weight
    for i in range(observed.shape[0]):
        counts[i, int(bins[observed[i]]), y] += weight
    mixed = forest.totals[t, a, y] < trees.seen[t, a]
    if mixed and trees.seen[t, a] - trees.tried[t, a] >= growth.grace and may_split(trees, t):
        trees.tried[t, a] = trees.seen[t, a]
        try_split(forest, t, growth, Columns(0, bins.shape[0]))
    if trees.seen[t, a] >= FULL:
        trees.seen[t, a] = trees.tried[t, a] = 0.0
        clear_slot(forest, t, a)


@kernel
def try_split(forest: ClassForest, t: int, growth: Growth, columns: Columns) -> None:
    """Split the row's leaf by the best of its features if that is better than the second with enough confidence."""
    a = int(forest.trees.slot[t, int(forest.trees.leaf[t])]) - 1
    seen, best, second, chosen, last = forest.trees.seen[t, a], 0.0, 0.0, -1, 0
    for i in range(forest.counts.shape[2]):
        gain, at = best_bin(forest.counts[t, a, i], forest.totals[t, a], seen, forest.left)
        count_gain(forest.trees, t, a, i, 2.0 * gain)
        if gain > best:
            second, best, chosen, last = best, gain, i, at
        elif gain > second:
            second = gain
    if chosen < 0 or best < LEAST_GAIN:
        return
    bound = math.sqrt(growth.confidence / seen)
    if best - second > bound or bound < growth.tie:
        grow(forest, t, chosen, last, columns)


@kernel
def best_bin(counts: Array, totals: Array, seen: float, left: Array) -> tuple[float, int]:
    """Return the largest decrease of the Gini index, and the last bin of the first child that gives it.

    Shapes: counts u2[B, K], totals f8[K], left f8[K].
    """
    K, before, best, last, below = totals.shape[0], 0.0, 0.0, 0, 0.0
    for c in range(K):
        before += totals[c] * totals[c]
        left[c] = 0.0
    for b in range(counts.shape[0] - 1):
        rows = 0.0
        for c in range(K):
            left[c] += counts[b, c]
            rows += counts[b, c]
        below += rows
        above = seen - below
        if above < FEWEST * seen:
            break
        if rows > 0.0 and below >= FEWEST * seen:
            one, other = 0.0, 0.0
            for c in range(K):
                one += left[c] * left[c]
                other += (totals[c] - left[c]) * (totals[c] - left[c])
            purity = one / below + other / above
            if purity > best:
                best, last = purity, b
    return ((best - before / seen) / seen if best > 0.0 else 0.0), last


@kernel
def grow(forest: ClassForest, t: int, i: int, last: int, columns: Columns) -> None:
    """Split the row's leaf; its children begin with the classes of their rows."""
    a = int(forest.trees.slot[t, int(forest.trees.leaf[t])]) - 1
    left, counts, totals, below, above = forest.left, forest.counts[t, a, i], forest.totals[t, a], 0.0, 0.0
    for c in range(left.shape[0]):
        left[c] = 0.0
        for b in range(last + 1):
            left[c] += counts[b, c]
        below += left[c]
        above += totals[c] - left[c]
    first = split(forest.trees, t, i, last, below >= above, columns)
    one, other = min(1.0, INHERITED / below), min(1.0, INHERITED / above)
    for c in range(left.shape[0]):
        forest.classes[t, first, c] = left[c] * one
        forest.classes[t, first + 1, c] = (totals[c] - left[c]) * other
    for child in range(first, first + 2):
        slot = int(forest.trees.slot[t, child]) - 1
        if slot >= 0:
            clear_slot(forest, t, slot)
