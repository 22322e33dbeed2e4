"""Random forests of incremental regression trees: bagging, random features, Hoeffding's bound on variance reduction.

The splits are those of FIMT-DD (Ikonomovska, Gama and Dzeroski, DMKD 23, 2011), from sums per bin instead of a search
tree per feature. A leaf forecasts the fading mean of its targets, trees are weighted by the inverse of their recent
squared error, and a tree whose error has multiplied is reset.
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
from driftway.learners.contract import Array, field, fragment, kernel, part, separate_kernel
from driftway.learners.numeric.fading_mean import newest_share

TREES = 15
BINS = 48
GRACE = 25.0
"""Weight of rows between two attempts to split a leaf."""
CONFIDENCE = 1.498
"""ln(1 / delta) / 2 with delta = 0.05: the ratio of two reductions has range 1."""
TIE = 0.1
"""Bound below which the best split is taken however small its lead is."""
KEEP = 0.98
"""Decay of a leaf's mean per row that it learns."""
LEAST_GAIN = 0.005
"""Smallest share of the variance that a split must remove."""
INHERITED = 20.0
"""Largest weight of the mean that a child begins with."""
RECENT, LONG = 0.02, 0.001
"""Shares of the last row in a tree's recent error and in the long one."""
WEIGHED = 0.01
"""The same of the error by which trees are weighted."""
LEAST = 1e-6
"""Squared error, in variances of the target, below which trees are weighted alike."""
RISEN = 3.0
"""Ratio of both errors at which a tree begins anew."""
STEADY = 500
"""Rows before that."""


class TargetForest(NamedTuple):
    """Memory of a forest."""

    trees: Any = part(Trees, "the trees")
    mean: Array = field("f8[T, N]", "mean of a leaf's targets, old ones discounted")
    weight: Array = field("f8[T, N]", "weight of that mean")
    counts: Any = field("u2[T, A, m, B]", "rows by bin of a feature that a slot observes")
    sums: Any = field("f4[T, A, m, B]", "sums of their targets")
    squares: Array = field("f8[T, A]", "sum of all squared targets that a slot has observed")
    error: Array = field("f8[T, 3]", "squared errors of a tree: by which it is weighted, recent, of many rows")
    rows: Array = field("f8[T]", "rows since a tree began")


def cost() -> int:
    """Multiplications that take as long as a row."""
    return TREES * (100 + 8 * OBSERVED)


@separate_kernel
def forecast(forest: TargetForest, bins: Array) -> float:
    """Return the forest's forecast. Shapes: bins f8[c]."""
    find_leaves(forest.trees, bins)
    total = weights = 0.0
    for t in range(forest.rows.shape[0]):
        weight = 1.0 / (forest.error[t, 0] + LEAST)
        total += weight * forest.mean[t, int(forest.trees.leaf[t])]
        weights += weight
    return total / weights


@separate_kernel
def learn(forest: TargetForest, bins: Array, y: float, columns: Columns) -> None:
    """Learn the row for which `forecast` has just found the leaves. Shapes: bins f8[c]."""
    for t in range(forest.rows.shape[0]):
        if forest.trees.nodes[t] == 0:
            begin_tree(forest.trees, t, columns)
        elif has_drifted(forest, t, y):
            restart(forest, t, columns)
        weight = bagging_weight(forest.trees.words)
        if weight > 0:
            learn_in_leaf(forest, t, bins, y, weight, columns)


@fragment
def has_drifted(forest: TargetForest, t: int, y: float) -> bool:
    """Count the error of tree t; return whether the recent one is a multiple of the long one."""
    away, error = y - forest.mean[t, int(forest.trees.leaf[t])], forest.error[t]
    squared = away * away
    forest.rows[t] += 1.0
    error[0] += newest_share(forest.rows[t], WEIGHED) * (squared - error[0])
    error[1] += newest_share(forest.rows[t], RECENT) * (squared - error[1])
    error[2] += newest_share(forest.rows[t], LONG) * (squared - error[2])
    return forest.rows[t] > STEADY and error[1] > RISEN * error[2] + LEAST


@kernel
def restart(forest: TargetForest, t: int, columns: Columns) -> None:
    """Let tree t begin anew."""
    begin_tree(forest.trees, t, columns)
    clear_slot(forest, t, 0)
    forest.mean[t, 0] = forest.weight[t, 0] = forest.trees.leaf[t] = forest.rows[t] = 0.0


@kernel
def clear_slot(forest: TargetForest, t: int, a: int) -> None:
    """Set the counts and sums of a slot to 0."""
    counts, sums = forest.counts[t, a], forest.sums[t, a]
    for i in range(counts.shape[0]):
        for b in range(counts.shape[1]):
            counts[i, b] = 0
            sums[i, b] = 0.0
    forest.squares[t, a] = 0.0


@fragment
def learn_in_leaf(forest: TargetForest, t: int, bins: Array, y: float, weight: int, columns: Columns) -> None:
    """Learn a row in the leaf of tree t, and split it if it is time to. Shapes: bins f8[c]."""
    trees, node = forest.trees, int(forest.trees.leaf[t])
    forest.weight[t, node] = power(KEEP, weight) * forest.weight[t, node] + weight
    forest.mean[t, node] += weight / forest.weight[t, node] * (y - forest.mean[t, node])
    a = int(trees.slot[t, node]) - 1
    if a < 0:
        return
    observed, counts, sums = trees.observed[t, a], forest.counts[t, a], forest.sums[t, a]
    trees.seen[t, a] += weight
    forest.squares[t, a] += weight * y * y
    for i in range(observed.shape[0]):
        b = int(bins[observed[i]])
        counts[i, b] += weight
        sums[i, b] += weight * y
    if trees.seen[t, a] - trees.tried[t, a] >= GRACE and may_split(trees, t):
        trees.tried[t, a] = trees.seen[t, a]
        try_split(forest, t, columns)
    if trees.seen[t, a] >= FULL:
        trees.seen[t, a] = trees.tried[t, a] = 0.0
        clear_slot(forest, t, a)


@kernel
def try_split(forest: TargetForest, t: int, columns: Columns) -> None:
    """Split the row's leaf by the best of its features if that is better than the second with enough confidence."""
    a = int(forest.trees.slot[t, int(forest.trees.leaf[t])]) - 1
    seen, total = forest.trees.seen[t, a], 0.0
    for b in range(forest.sums.shape[3]):
        total += forest.sums[t, a, 0, b]
    spread = forest.squares[t, a] - total * total / seen
    if spread <= LEAST * LEAST * seen:
        return
    best, second, chosen, last = 0.0, 0.0, -1, 0
    for i in range(forest.counts.shape[2]):
        gain, at = best_bin(forest.counts[t, a, i], forest.sums[t, a, i], seen, total)
        count_gain(forest.trees, t, a, i, gain / spread)
        if gain > best:
            second, best, chosen, last = best, gain, i, at
        elif gain > second:
            second = gain
    if chosen < 0 or best < LEAST_GAIN * spread:
        return
    bound = math.sqrt(CONFIDENCE / seen)
    if second < (1.0 - bound) * best or bound < TIE:
        grow(forest, t, chosen, last, total, columns)


@kernel
def best_bin(counts: Array, sums: Array, seen: float, total: float) -> tuple[float, int]:
    """Return by how much a split reduces the sum of squared deviations at most, and the first child's last bin then.

    Shapes: counts u2[B], sums f4[B].
    """
    best, last, below, left = 0.0, 0, 0.0, 0.0
    for b in range(counts.shape[0] - 1):
        below += counts[b]
        left += sums[b]
        above, right = seen - below, total - left
        if above < FEWEST * seen:
            break
        if counts[b] > 0 and below >= FEWEST * seen:
            gain = left * left / below + right * right / above - total * total / seen
            if gain > best:
                best, last = gain, b
    return best, last


@kernel
def grow(forest: TargetForest, t: int, i: int, last: int, total: float, columns: Columns) -> None:
    """Split the row's leaf; its children begin with the means of their rows."""
    a = int(forest.trees.slot[t, int(forest.trees.leaf[t])]) - 1
    below = left = 0.0
    for b in range(last + 1):
        below += forest.counts[t, a, i, b]
        left += forest.sums[t, a, i, b]
    above = forest.trees.seen[t, a] - below
    first = split(forest.trees, t, i, last, below >= above, columns)
    forest.mean[t, first], forest.weight[t, first] = left / below, min(below, INHERITED)
    forest.mean[t, first + 1], forest.weight[t, first + 1] = (total - left) / above, min(above, INHERITED)
    for child in range(first, first + 2):
        slot = int(forest.trees.slot[t, child]) - 1
        if slot >= 0:
            clear_slot(forest, t, slot)
