"""Streaming gradient boosted trees."""

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    number,
    part,
    scratch,
)
from driftway.learners.drift.adwin import ADWIN, LEVELS
from driftway.learners.engine.jit import member
from driftway.learners.learner import REGRESSION
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.fading_mean import newest_share
from driftway.learners.numeric.random import seed
from driftway.learners.preprocessing.standardizer import Statistics
from driftway.learners.trees import arena, features
from driftway.learners.trees.class_trees import tree_sizes
from driftway.learners.trees.features import LARGEST
from driftway.learners.trees.forest import columns_of_patch
from driftway.learners.trees.monitors import BUCKETS, Detectors, forget, increased
from driftway.learners.trees.nominal import nominal_columns
from driftway.learners.trees.relative_error import SLOW, ErrorScale, count_error, relative, root_of
from driftway.learners.trees.target_leaves import VALUE, WORDS, TargetPrediction, TargetWork
from driftway.learners.trees.target_trees import SplitNumbers, TargetTrees, learn_tree, predict_tree
from driftway.learners.trees.tree_learner import TreeLearner

FLATTEST = 1e-3
"""Least curvature of the loss, so that a Newton step is finite."""


class StreamingGradientBoosting(TreeLearner):
    """Regression trees in sequence: each learns what those before it leave of the loss.

    Strong on targets and on classes with smooth boundaries of many columns, at the price of many trees. Step m predicts
    the Newton step -g / h of the log loss (targets: the residual) of F_(m-1) = sum of rate f_i over i < m, with weight
    h; scores are F, with one tree per class and step if there are more than two classes. Trees grow as those of
    `hoeffding_tree` for targets, for classes without linear models, and have columns of their own. One whose errors
    increase, by ADWIN, begins anew.

    Cost
    ----
    O(T C (m + depth)) per row, with T steps, C trees in each (1, or the number of classes above 2) and m columns in a
    tree; 8 T C L (67 m + d) bytes and 4 KB for each tree, with `max_leaves` L.

    Source
    ------
    Gunasekara, Pfahringer, Gomes and Bifet, Gradient boosted trees for evolving data streams, Machine Learning 113,
    2024. docs/algorithms/trees.md#streaming_gradient_boosting. Differs: trees are replaced as a whole; 30 steps of 0.2
    instead of 100 of 0.0125.
    """

    name = "streaming_gradient_boosting"

    class Params(Parameters):
        steps: int = integer(30, "T, number of boosting steps.", at_least=1, at_most=1000)
        rate: float = number(0.2, "Share of a tree's prediction that is added.", above=0.0, at_most=1.0)
        share: float = number(0.75, "Share of the columns that a tree has, rounded.", above=0.0, at_most=1.0)
        grace: int = integer(10, "Weight of a leaf's rows from one try to split it to the next.", at_least=1)
        delta: float = number(
            0.2, "Probability that another column is better than the one chosen.", above=0.0, below=1.0
        )
        tie: float = number(0.05, "Bound on epsilon below which two columns count as equally good.", at_least=0.0)
        drift: float = number(0.002, "Confidence of the ADWINs on the trees' errors.", above=0.0, below=1.0)
        max_leaves: int = integer(16, "L, the most leaves that a tree may have.", at_least=1, at_most=100_000)
        nominal: str = nominal_columns()
        seed: int = integer(1, "Seed of the trees' columns.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        p, d, C = self.parameters, self.n_features, self.n_classes if self.n_classes > 2 else 1
        m = columns_of_patch(p.share, d)
        sizes = {**tree_sizes(p.steps * C, p.max_leaves, m, m, WORDS), "C": C, "B2": WORDS - 2}
        sizes |= {"levels": LEVELS, "M": BUCKETS, "w": 1}
        growth = SplitNumbers(float(p.grace), p.delta, p.tie, 1.0, 0, linear=self.task == REGRESSION)
        given = BoostingNumbers(growth, p.rate, ADWIN.Params(delta=p.drift).numbers())
        if self.task == REGRESSION:
            return UpdateRule(score_target, learn_target, given, BoostedTargets, sizes)
        return UpdateRule(score_classes, learn_class, given, BoostedClasses, sizes, classes=True)

    def initialise(self) -> None:
        super().initialise()
        for t, words in enumerate(self.state["trees.generator"]):
            seed(words, np.uint64(self.parameters.seed + t))


class BoostingNumbers(NamedTuple):
    """Parameters of the fragments."""

    growth: Any
    """When leaves are split."""
    rate: float
    """Share of a tree's prediction that is added."""
    watch: Any
    """Those of ADWIN."""


class BoostedClasses(NamedTuple):
    """State of `streaming_gradient_boosting` for classes; tree C m + c is that of class c in step m."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(TargetTrees, "the trees")
    detectors: Any = part(Detectors, "of the trees")
    error: Any = part(ErrorScale, "how far the trees are from what they learn")
    predictions: Any = part(TargetPrediction, "what they predict for the row")
    work: Any = part(TargetWork, "working space")
    S: Array = scratch("f8[K]", "scores of the classes")
    F: Array = scratch("f8[K]", "scores of the steps so far")
    p: Array = scratch("f8[K]", "probabilities of the classes by these")


class BoostedTargets(NamedTuple):
    """State of `streaming_gradient_boosting` for targets."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(TargetTrees, "the trees")
    detectors: Any = part(Detectors, "of the trees")
    error: Any = part(ErrorScale, "how far the trees are from what they learn")
    mean: Array = field("f8[2]", "rows, and fading mean of the targets, with which the sum begins")
    predictions: Any = part(TargetPrediction, "what they predict for the row")
    work: Any = part(TargetWork, "working space")


@fragment
def score_classes(x: Array, p: BoostingNumbers, memory: BoostedClasses) -> None:
    """Write the sum of the steps for each class; of two classes, the first has 0. Shapes: x f8[d]."""
    features.read(x, memory.known, memory.work.row)
    add_up(p.rate, memory)


@fragment
def add_up(rate: float, memory: BoostedClasses) -> None:
    """Write the sums, with the predictions of all trees."""
    S, C, T = memory.S, trees_of_step(memory.S), memory.predictions.outputs.shape[0]
    for c in range(S.shape[0]):
        S[c] = 0.0
    for t in range(T):
        prediction = member(memory.predictions, t)
        predict_tree(member(memory.trees, t), memory.work, prediction)
        S[class_of(t, C)] += rate * prediction.outputs[VALUE]


@fragment
def trees_of_step(S: Array) -> int:
    """Return C: one tree for each class, or one for two."""
    return S.shape[0] if S.shape[0] > 2 else 1


@fragment
def class_of(t: int, C: int) -> int:
    """Return the class of tree t."""
    return t % C if C > 1 else 1


@fragment
def learn_class(x: Array, y: int, _omega: float, _finite: bool, p: BoostingNumbers, memory: BoostedClasses) -> None:
    """Let each step learn the Newton step of the loss of those before it. Shapes: x f8[d]."""
    descend_classes(y, p, memory)
    features.count_row(x, memory.known)


@fragment
def descend_classes(y: int, p: BoostingNumbers, memory: BoostedClasses) -> None:
    """Let the trees of each step learn, one step after the other."""
    F, T, C, root = memory.F, memory.predictions.outputs.shape[0], trees_of_step(memory.F), root_of(memory.error)
    for c in range(F.shape[0]):
        F[c] = 0.0
    for first in range(0, T, C):
        softmax(F, memory.p)
        for t in range(first, first + C):
            c = class_of(t, C)
            curvature = max(memory.p[c] * (1.0 - memory.p[c]), FLATTEST)
            wanted = ((1.0 if c == y else 0.0) - memory.p[c]) / curvature
            predicted = member(memory.predictions, t).outputs[VALUE]
            teach(t, wanted, curvature, root, p, memory)
            F[c] += p.rate * predicted


@fragment
def softmax(F: Array, p: Array) -> None:
    """Write the probabilities of scores. Shapes: F f8[K], p f8[K]."""
    top, total = F[0], 0.0
    for c in range(1, F.shape[0]):
        top = max(top, F[c])
    for c in range(F.shape[0]):
        p[c] = exp(F[c] - top)
        total += p[c]
    for c in range(F.shape[0]):
        p[c] /= total


@fragment
def teach(t: int, wanted: float, weight: float, root: float, p: BoostingNumbers, memory: Any) -> None:
    """Let tree t learn what it should have predicted; begin it anew if its errors have become more."""
    tree, prediction, detectors = member(memory.trees, t), member(memory.predictions, t), member(memory.detectors, t)
    off = wanted - prediction.outputs[VALUE]
    learn_tree(tree, wanted, weight, p.growth, memory.work, prediction)
    one = member(detectors, 0)
    if increased(one, relative(root, off), p.watch):
        forget(one)
        arena.reset(tree.nodes)
        predict_tree(tree, memory.work, prediction)
        learn_tree(tree, wanted, weight, p.growth, memory.work, prediction)
    count_error(memory.error, off)


@fragment
def score_target(x: Array, p: BoostingNumbers, memory: BoostedTargets) -> float:
    """Return the mean of the targets and the sum of the steps. Shapes: x f8[d]."""
    features.read(x, memory.known, memory.work.row)
    return sum_of_steps(p.rate, memory)


@fragment
def sum_of_steps(rate: float, memory: BoostedTargets) -> float:
    """Return the sum, with the predictions of all trees."""
    total = memory.mean[1]
    for t in range(memory.predictions.outputs.shape[0]):
        prediction = member(memory.predictions, t)
        predict_tree(member(memory.trees, t), memory.work, prediction)
        total += rate * prediction.outputs[VALUE]
    return total


@fragment
def learn_target(x: Array, y: float, _omega: float, _value: float, p: BoostingNumbers, memory: BoostedTargets) -> None:
    """Let each step learn what those before it leave of the target. Shapes: x f8[d]."""
    descend_targets(min(max(y, -LARGEST), LARGEST), p, memory)
    features.count_row(x, memory.known)


@fragment
def descend_targets(y: float, p: BoostingNumbers, memory: BoostedTargets) -> None:
    """Let the tree of each step learn, one step after the other."""
    root, mean = root_of(memory.error), memory.mean
    left = y - mean[1]
    for t in range(memory.predictions.outputs.shape[0]):
        predicted = member(memory.predictions, t).outputs[VALUE]
        teach(t, left, 1.0, root, p, memory)
        left -= p.rate * predicted
    mean[0] += 1.0
    mean[1] += (y - mean[1]) * newest_share(mean[0], SLOW)
