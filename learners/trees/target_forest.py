"""Forests of regression trees, each of which is replaced where its errors increase.

As `driftway.learners.trees.class_forest`; the prediction is the mean of the trees', and an error is relative to three
times the root of the mean square of the forest's.
"""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, field, fragment, part
from driftway.learners.engine.jit import member
from driftway.learners.numeric.random import Words, poisson
from driftway.learners.preprocessing.standardizer import Statistics
from driftway.learners.trees import arena, features, target_trees
from driftway.learners.trees.forest import ForestNumbers, Members, active_tree, spare_tree, watch_tree
from driftway.learners.trees.monitors import Detectors
from driftway.learners.trees.relative_error import ErrorScale, count_error, relative, root_of
from driftway.learners.trees.target_leaves import VALUE, TargetPrediction, TargetWork
from driftway.learners.trees.target_trees import TargetTrees, predict_tree


class TargetForest(NamedTuple):
    """State of a forest for targets."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(TargetTrees, "the trees, and those in the background; 2 T in all")
    members: Any = part(Members, "which tree is which")
    detectors: Any = part(Detectors, "of the trees")
    error: Any = part(ErrorScale, "how large errors are")
    generator: Words = field("u8[4]", "of the weights")
    predictions: Any = part(TargetPrediction, "what the trees predict for the row")
    others: Any = part(TargetPrediction, "what a tree in the background predicts")
    work: Any = part(TargetWork, "working space")


@fragment
def score_target(x: Array, _p: ForestNumbers, memory: TargetForest) -> float:
    """Return the mean of the trees' predictions. Shapes: x f8[d]."""
    features.read(x, memory.known, memory.work.row)
    return mean_of_trees(memory)


@fragment
def mean_of_trees(memory: TargetForest) -> float:
    """Return the mean, after each tree has predicted the row."""
    members, total = memory.members, 0.0
    for t in range(members.active.shape[0]):
        total += predict_tree(member(memory.trees, active_tree(members, t)), memory.work, member(memory.predictions, t))
    return total / members.active.shape[0]


@fragment
def learn_target(x: Array, y: float, _omega: float, value: float, p: ForestNumbers, memory: TargetForest) -> None:
    """Let each tree learn the row with a random weight, and watch its error. Shapes: x f8[d]."""
    root = root_of(memory.error)
    for t in range(memory.members.active.shape[0]):
        teach(t, y, root, p, memory)
    count_error(memory.error, y - value)
    features.count_row(x, memory.known)


@fragment
def teach(t: int, y: float, root: float, p: ForestNumbers, memory: TargetForest) -> None:
    """Let tree t and its successor in the background learn the row; replace the tree if its errors have increased."""
    members, prediction, work = memory.members, member(memory.predictions, t), memory.work
    weight = float(poisson(memory.generator, p.weight))
    error = relative(root, y - prediction.outputs[VALUE])
    if weight > 0.0:
        target_trees.learn_tree(member(memory.trees, active_tree(members, t)), y, weight, p.growth, work, prediction)
        if members.waiting[t] == 1:
            tree, other = member(memory.trees, spare_tree(members, t)), member(memory.others, 0)
            predict_tree(tree, work, other)
            target_trees.learn_tree(tree, y, weight, p.growth, work, other)
    gone = watch_tree(members, memory.detectors, t, error, p)
    if gone >= 0:
        one = member(memory.trees, gone)
        arena.reset(one.nodes)
        if gone == active_tree(members, t):
            predict_tree(one, work, prediction)
            target_trees.learn_tree(one, y, 1.0, p.growth, work, prediction)
