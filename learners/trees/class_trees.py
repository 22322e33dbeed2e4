"""Hoeffding trees for classes: how one tree of a block of T scores a row, learns it and grows.

`driftway.learners.trees.hoeffding_tree` is one such tree, a forest has many. A caller keeps a `ClassTrees`, a
`ClassPrediction` and a `ClassWork` in its memory, writes the row to `work.row` and calls, with what
`driftway.learners.engine.jit.member` takes out of both for tree t, `score_tree` and, for a labelled row just scored,
`learn_tree` with a weight; `arena.reset` makes a tree forget everything.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Counts, field, fragment, kernel, part
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.random import Words
from driftway.learners.trees import arena
from driftway.learners.trees.arena import Nodes, has_begun
from driftway.learners.trees.class_leaves import (
    BAYES,
    COUNTS,
    ClassLeaves,
    ClassPrediction,
    ClassWork,
    observe,
    predict_leaf,
    renew,
)
from driftway.learners.trees.features import choose, choose_pool
from driftway.learners.trees.information_gain import LN_2, BestSplit, best_split, classes_in


class ClassTrees(NamedTuple):
    """T trees."""

    nodes: Any = part(Nodes, "their nodes")
    leaves: Any = part(ClassLeaves, "their leaves")
    generator: Words = field("u8[T, 4]", "of the columns that leaves look at")
    pool: Counts = field("i8[T, q]", "columns from which its leaves choose", largest="d - 1")


class SplitNumbers(NamedTuple):
    """When a leaf is split."""

    grace: float
    """Weight of a leaf's rows from one try to the next."""
    delta: float
    """Probability with which the best column only seems to be the best."""
    tie: float
    """Bound below which the two best columns count as equally good."""
    reserve: int = 0
    """Pairs of nodes that a split must leave free."""


def tree_sizes(T: int, L: int, q: int, m: int, W: int) -> Sizes:
    """Return the sizes of T trees of at most L leaves, which look at m of their tree's q columns, in W words each."""
    return {"T": T, "L": L, "N": 2 * L - 1, "q": q, "m": m, "W": W}


@fragment
def score_tree(tree: ClassTrees, work: ClassWork, prediction: ClassPrediction) -> None:
    """Write what the tree predicts for the row."""
    score_below(tree, 0, work, prediction)


@fragment
def score_below(tree: ClassTrees, node: int, work: ClassWork, prediction: ClassPrediction) -> None:
    """Write what the leaf below a node that the row reaches predicts."""
    leaf = arena.leaf_of(tree.nodes, work.row.x, node)
    prediction.leaf[0] = leaf
    predict_leaf(tree.leaves, tree.nodes.slot[leaf], work.row, prediction)


@fragment
def learn_tree(
    tree: ClassTrees, y: int, weight: float, growth: SplitNumbers, work: ClassWork, prediction: ClassPrediction
) -> None:
    """Learn the row that the tree has just predicted, with a weight > 0; split its leaf if it is time."""
    nodes = tree.nodes
    if not has_begun(nodes):
        begin_tree(tree, work)
    nodes.rows[0] += 1
    learn_leaf(tree, y, weight, growth, work, prediction)


@fragment
def learn_leaf(
    tree: ClassTrees, y: int, weight: float, growth: SplitNumbers, work: ClassWork, prediction: ClassPrediction
) -> None:
    """Add the row to the leaf that has just predicted it; split that if it is time."""
    nodes, leaves, leaf = tree.nodes, tree.leaves, int(prediction.leaf[0])
    s = nodes.slot[leaf]
    if s < 0:
        return
    nodes.last[leaf] = nodes.rows[0]
    leaves.hits[s, COUNTS] += weight * (prediction.outputs[COUNTS] == y)
    leaves.hits[s, BAYES] += weight * (prediction.outputs[BAYES] == y)
    observe(leaves, s, work.row, y, weight)
    leaves.waiting[s, 0] += weight
    if leaves.waiting[s, 0] >= growth.grace:
        leaves.waiting[s, 0] = 0.0
        try_to_split(tree, leaf, s, growth, work)


@kernel
def begin_tree(tree: ClassTrees, work: ClassWork) -> None:
    """Make the tree a single empty leaf."""
    s = arena.begin_tree(tree.nodes)
    choose_pool(tree.generator, tree.pool, work.order)
    begin_leaf(tree, s, work)


@kernel
def begin_leaf(tree: ClassTrees, s: int, work: ClassWork) -> None:
    """Begin a leaf in slot s that expects nothing."""
    for c in range(tree.leaves.prior.shape[1]):
        tree.leaves.prior[s, c] = 0.0
    choose(tree.generator, tree.pool, tree.leaves.looked[s], work.order)
    renew(tree.leaves, s, work.row)


@kernel
def try_to_split(tree: ClassTrees, leaf: int, s: int, growth: SplitNumbers, work: ClassWork) -> None:
    """Split the leaf if the best column is the best with probability 1 - delta, or if the best two are equally good.

    Domingos and Hulten's Table 1: with R = log2 of the classes in the leaf and n its rows, the observed difference of
    two gains is within epsilon = sqrt(R^2 ln(1 / delta) / 2 n) of the true one.
    """
    counts, K = tree.leaves.counts[s], tree.leaves.counts.shape[1]
    classes, n = classes_in(counts), 0.0
    if classes < 2:
        return
    for c in range(K):
        n += counts[c] + tree.leaves.prior[s, c]
    found = best_split(tree.leaves, s, work)
    R = log(float(classes)) / LN_2
    epsilon = R * math.sqrt(log(1.0 / growth.delta) / (2.0 * n))
    if found.tested >= 0 and (found.gain - found.second > epsilon or epsilon < growth.tie):
        split(tree, leaf, found, growth.reserve, work)


@kernel
def split(tree: ClassTrees, leaf: int, found: BestSplit, reserve: int, work: ClassWork) -> None:
    """Split the leaf: each child expects the classes that the split puts there."""
    leaves, s = tree.leaves, tree.nodes.slot[leaf]
    other = arena.split_leaf(tree.nodes, leaf, found.tested, found.threshold, reserve)
    if other < 0:
        return
    for c in range(leaves.counts.shape[1]):
        leaves.prior[other, c] = max(leaves.counts[s, c] - work.best[c], 0.0)
        leaves.prior[s, c] = work.best[c]
    for child in (s, other):
        choose(tree.generator, tree.pool, leaves.looked[child], work.order)
        renew(leaves, child, work.row)
