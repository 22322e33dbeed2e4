"""Hoeffding trees for targets: how one tree of a block of T predicts a row, learns it and grows.

Used as `driftway.learners.trees.class_trees`: `predict_tree`, then `learn_tree` for a row with a target.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Counts, field, fragment, kernel, part
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.random import Words
from driftway.learners.trees import arena
from driftway.learners.trees.arena import Nodes, has_begun
from driftway.learners.trees.features import LARGEST, choose, choose_pool
from driftway.learners.trees.target_leaves import (
    MEAN,
    VALUE,
    WEIGHT,
    TargetLeaves,
    TargetPrediction,
    TargetWork,
    descend,
    observe,
    predict_leaf,
    renew,
)
from driftway.learners.trees.variance_reduction import BestSplit, best_split

LEAST_GAIN = 0.005
"""Least reduction of the variance, as a share of it, for which a leaf is split."""
FIRM = 20.0
"""Largest weight that a new leaf gives to the mean which its parent expected."""


class TargetTrees(NamedTuple):
    """T trees."""

    nodes: Any = part(Nodes, "their nodes")
    leaves: Any = part(TargetLeaves, "their leaves")
    generator: Words = field("u8[T, 4]", "of the columns that leaves look at")
    pool: Counts = field("i8[T, q]", "columns from which its leaves choose", largest="d - 1")


class SplitNumbers(NamedTuple):
    """When a leaf is split, and what it forgets."""

    grace: float
    """Weight of a leaf's rows from one try to the next."""
    delta: float
    """Probability with which the best column only seems to be the best."""
    tie: float
    """Bound below which the two best columns count as equally good."""
    fade: float
    """Factor of the weight of earlier targets in a leaf's mean at each row; 1 = it forgets nothing."""
    reserve: int = 0
    """Pairs of nodes that a split must leave free."""
    linear: bool = True
    """Whether leaves have linear models; without, they predict their means."""


@fragment
def predict_tree(tree: TargetTrees, work: TargetWork, prediction: TargetPrediction) -> float:
    """Return the tree's prediction for the row."""
    return predict_below(tree, 0, work, prediction)


@fragment
def predict_below(tree: TargetTrees, node: int, work: TargetWork, prediction: TargetPrediction) -> float:
    """Return the prediction of the leaf below a node that the row reaches."""
    leaf = arena.leaf_of(tree.nodes, work.row.x, node)
    prediction.leaf[0] = leaf
    predict_leaf(tree.leaves, tree.nodes.slot[leaf], work.row, prediction)
    return prediction.outputs[VALUE]


@fragment
def learn_tree(
    tree: TargetTrees,
    target: float,
    weight: float,
    growth: SplitNumbers,
    work: TargetWork,
    prediction: TargetPrediction,
) -> None:
    """Learn the row, for which the tree has just predicted, with a weight > 0; split its leaf if it is time."""
    if not has_begun(tree.nodes):
        begin_tree(tree, min(max(target, -LARGEST), LARGEST), work)
        predict_below(tree, 0, work, prediction)
    tree.nodes.rows[0] += 1
    learn_leaf(tree, target, weight, growth, work, prediction)


@fragment
def learn_leaf(
    tree: TargetTrees,
    target: float,
    weight: float,
    growth: SplitNumbers,
    work: TargetWork,
    prediction: TargetPrediction,
) -> None:
    """Add the row to the leaf that has just predicted for it; split it if it is time."""
    nodes, leaves, y, leaf = tree.nodes, tree.leaves, min(max(target, -LARGEST), LARGEST), int(prediction.leaf[0])
    s = nodes.slot[leaf]
    if s < 0:
        return
    nodes.last[leaf] = nodes.rows[0]
    if growth.linear:
        descend(leaves, s, y, weight, work.row, prediction)
    observe(leaves, s, y, weight, growth.fade, work)
    leaves.waiting[s, 0] += weight
    if leaves.waiting[s, 0] >= growth.grace:
        leaves.waiting[s, 0] = 0.0
        try_to_split(tree, leaf, s, growth, work)


@kernel
def begin_tree(tree: TargetTrees, y: float, work: TargetWork) -> None:
    """Make the tree a single empty leaf; y is its first target."""
    s = arena.begin_tree(tree.nodes)
    choose_pool(tree.generator, tree.pool, work.order)
    begin_leaf(tree, s, y, work)


@kernel
def begin_leaf(tree: TargetTrees, s: int, y: float, work: TargetWork) -> None:
    """Begin a leaf in slot s that expects nothing; y is its first target."""
    leaves = tree.leaves
    for j in range(leaves.linear.shape[1]):
        leaves.linear[s, j] = 0.0
    leaves.bias[s, 0], leaves.bias[s, 1] = y, 0.0
    for k in range(2):
        leaves.level[s, k] = leaves.errors[s, k] = 0.0
    choose(tree.generator, tree.pool, leaves.looked[s], work.order)
    renew(leaves, s, y)


@kernel
def try_to_split(tree: TargetTrees, leaf: int, s: int, growth: SplitNumbers, work: TargetWork) -> None:
    """Split the leaf if the best column is the best with probability 1 - delta, or if the best two are equally good.

    FIMT-DD's Figure 2: the ratio of the two best reductions is within epsilon = sqrt(ln(1 / delta) / 2 n) of the
    true one.
    """
    found = best_split(tree.leaves, s, work)
    if found.tested < 0 or found.gain < LEAST_GAIN:
        return
    epsilon = math.sqrt(log(1.0 / growth.delta) / (2.0 * tree.leaves.moments[s, WEIGHT]))
    if found.second / found.gain < 1.0 - epsilon or epsilon < growth.tie:
        split(tree, leaf, found, growth.reserve, work)


@kernel
def split(tree: TargetTrees, leaf: int, found: BestSplit, reserve: int, work: TargetWork) -> None:
    """Split the leaf: each child expects the mean that the split gives it, and inherits the linear model."""
    leaves, s = tree.leaves, tree.nodes.slot[leaf]
    other = arena.split_leaf(tree.nodes, leaf, found.tested, found.threshold, reserve)
    if other < 0:
        return
    n, origin, mean = leaves.moments[s, WEIGHT], leaves.origin[s, 0], leaves.moments[s, MEAN]
    above = (n * mean - found.weight * found.mean) / (n - found.weight)
    inherit(leaves, s, other)
    expect(tree, s, found.weight, found.mean + origin, work)
    expect(tree, other, n - found.weight, above + origin, work)


@kernel
def inherit(leaves: TargetLeaves, s: int, other: int) -> None:
    """Copy the linear model and the errors of the leaf in slot s to the one in another slot."""
    for j in range(leaves.linear.shape[1]):
        leaves.linear[other, j] = leaves.linear[s, j]
    for k in range(2):
        leaves.bias[other, k], leaves.errors[other, k] = leaves.bias[s, k], leaves.errors[s, k]


@kernel
def expect(tree: TargetTrees, s: int, weight: float, mean: float, work: TargetWork) -> None:
    """Begin the leaf in slot s with a mean of so many targets."""
    tree.leaves.level[s, 0], tree.leaves.level[s, 1] = min(weight, FIRM), mean
    choose(tree.generator, tree.pool, tree.leaves.looked[s], work.order)
    renew(tree.leaves, s, mean)
