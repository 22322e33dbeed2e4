"""Forests of classification trees, each of which is replaced where its errors increase.

A forest has T trees and T places for trees in the background. Each tree has two ADWINs on its errors: one warns, and a
new tree begins in the background; the other finds a drift, and the tree in the background takes over, or an empty one.
"""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, field, fragment, part, scratch
from driftway.learners.engine.jit import member
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.random import Words, poisson
from driftway.learners.preprocessing.standardizer import Statistics
from driftway.learners.trees import arena, class_trees, features
from driftway.learners.trees.class_leaves import ClassPrediction, ClassWork, largest_of
from driftway.learners.trees.class_trees import ClassTrees, score_tree
from driftway.learners.trees.forest import ForestNumbers, Members, active_tree, spare_tree, watch_tree
from driftway.learners.trees.monitors import Detectors


class ClassForest(NamedTuple):
    """State of a forest for classes."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(ClassTrees, "the trees, and those in the background; 2 T in all")
    members: Any = part(Members, "which tree is which")
    detectors: Any = part(Detectors, "of the trees")
    generator: Words = field("u8[4]", "of the weights")
    predictions: Any = part(ClassPrediction, "what the trees predict for the row")
    others: Any = part(ClassPrediction, "what a tree in the background predicts")
    work: Any = part(ClassWork, "working space")
    S: Array = scratch("f8[K]", "logarithms of the classes' probabilities")


@fragment
def score_classes(x: Array, p: ForestNumbers, memory: ClassForest) -> None:
    """Write the logarithm of each class's probability: the mean of the trees', weighted by their accuracy.

    Shapes: x f8[d].
    """
    features.read(x, memory.known, memory.work.row)
    vote(memory)


@fragment
def vote(memory: ClassForest) -> None:
    """Write the mean of the probabilities of all trees, as logarithms."""
    S, members, total = memory.S, memory.members, 0.0
    for c in range(S.shape[0]):
        S[c] = 0.0
    for t in range(members.active.shape[0]):
        place, prediction = active_tree(members, t), member(memory.predictions, t)
        score_tree(member(memory.trees, place), memory.work, prediction)
        weight = (members.right[place] + 1.0) / (members.rows[place] + 2.0)
        total += weight
        for c in range(S.shape[0]):
            S[c] += weight * prediction.p[c]
    for c in range(S.shape[0]):
        S[c] = log(S[c] / total)


@fragment
def learn_class(x: Array, y: int, _omega: float, _finite: bool, p: ForestNumbers, memory: ClassForest) -> None:
    """Let each tree learn the row with a random weight, and watch its error. Shapes: x f8[d]."""
    for t in range(memory.members.active.shape[0]):
        teach(t, y, p, memory)
    features.count_row(x, memory.known)


@fragment
def teach(t: int, y: int, p: ForestNumbers, memory: ClassForest) -> None:
    """Let tree t and its successor in the background learn the row; replace the tree if its errors have increased."""
    members, prediction, work = memory.members, member(memory.predictions, t), memory.work
    place, weight = active_tree(members, t), float(poisson(memory.generator, p.weight))
    hit = largest_of(prediction.p) == y
    members.rows[place] += 1
    members.right[place] += hit
    if weight > 0.0:
        class_trees.learn_tree(member(memory.trees, place), y, weight, p.growth, work, prediction)
    if members.waiting[t] == 1:
        spare = spare_tree(members, t)
        other, tree = member(memory.others, 0), member(memory.trees, spare)
        score_tree(tree, work, other)
        members.rows[spare] += 1
        members.right[spare] += largest_of(other.p) == y
        if weight > 0.0:
            class_trees.learn_tree(tree, y, weight, p.growth, work, other)
    gone = watch_tree(members, memory.detectors, t, 0.0 if hit else 1.0, p)
    if gone >= 0:
        one = member(memory.trees, gone)
        arena.reset(one.nodes)
        if gone == active_tree(members, t):
            score_tree(one, work, prediction)
            class_trees.learn_tree(one, y, 1.0, p.growth, work, prediction)
