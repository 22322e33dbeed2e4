"""The Hoeffding adaptive tree."""

from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Parameters,
    UpdateRule,
    fragment,
    integer,
    kernel,
    number,
    part,
    scratch,
)
from driftway.learners.drift.adwin import ADWIN, LEVELS
from driftway.learners.engine.jit import member
from driftway.learners.learner import REGRESSION
from driftway.learners.preprocessing.standardizer import Statistics
from driftway.learners.trees import arena, class_trees, features, target_trees
from driftway.learners.trees.class_leaves import ClassPrediction, ClassWork, largest_of, words_of
from driftway.learners.trees.class_trees import ClassTrees, tree_sizes
from driftway.learners.trees.hoeffding_tree import score_classes, score_target
from driftway.learners.trees.monitors import BUCKETS, Monitors, settle, watch_node, worse
from driftway.learners.trees.nominal import NONE, nominal_columns
from driftway.learners.trees.relative_error import ErrorScale, count_error, relative, root_of
from driftway.learners.trees.target_leaves import VALUE, WORDS, TargetPrediction, TargetWork
from driftway.learners.trees.target_trees import TargetTrees
from driftway.learners.trees.tree_learner import TreeLearner

RESERVE = 4
"""One in so many pairs of nodes is kept free for alternates when the tree splits a leaf."""


class HoeffdingAdaptiveTree(TreeLearner):
    """A Hoeffding tree whose subtrees are replaced where their errors increase.

    Each inner node has an ADWIN on the errors of the rows that pass it. When they have become more, an alternate
    subtree begins there, which learns the same rows; once it is significantly better, it takes the node's place, and if
    it is worse it is dropped. A leaf whose errors have become more is emptied. So only the part of a concept that
    changed is learned again. Otherwise it is `hoeffding_tree`. Alternates share its nodes, a quarter of which is kept
    for them; where none is free no alternate begins.

    Targets: an error is the absolute one relative to three times the root of the mean square of the last thousand.

    Cost
    ----
    That of `hoeffding_tree`, O(depth) more, and as much again in the alternates that a row passes; 3.4 KB for each of
    2 L nodes more.

    Source
    ------
    Bifet and Gavalda, Adaptive learning from evolving data streams, IDA 2009 (HAT-ADWIN); targets: the tree of
    Ikonomovska, Gama and Dzeroski, DMKD 2011. docs/algorithms/trees.md#hoeffding_adaptive_tree.
    """

    name = "hoeffding_adaptive_tree"

    class Params(Parameters):
        grace: int = integer(200, "Rows of a leaf from one try to split it to the next.", at_least=1)
        delta: float = number(
            1e-7, "Probability that another column is better than the one chosen.", above=0.0, below=1.0
        )
        tie: float = number(0.05, "Bound on epsilon below which two columns count as equally good.", at_least=0.0)
        drift: float = number(0.002, "Confidence of the ADWINs. Larger = earlier alternates.", above=0.0, below=1.0)
        max_leaves: int = integer(
            64, "L, the most leaves that the tree and its alternates may have.", at_least=1, at_most=100_000
        )
        nominal: str = nominal_columns()

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.n_features
        watch = ADWIN.Params(delta=p.drift).numbers()
        watched = {"levels": LEVELS, "M": BUCKETS}
        if self.task == REGRESSION:
            grown, free = (
                target_trees.SplitNumbers(float(p.grace), p.delta, p.tie, 1.0, reserve)
                for reserve in (p.max_leaves // RESERVE, 0)
            )
            shapes = {**tree_sizes(1, p.max_leaves, d, d, WORDS), "B2": WORDS - 2, **watched}
            return UpdateRule(score_target, learn_target, AdaptiveTreeNumbers(grown, free, watch), TargetTree, shapes)
        growth, within = (
            class_trees.SplitNumbers(float(p.grace), p.delta, p.tie, reserve)
            for reserve in (p.max_leaves // RESERVE, 0)
        )
        sizes = {**tree_sizes(1, p.max_leaves, d, d, words_of(self.n_classes, p.nominal != NONE)), **watched}
        return UpdateRule(
            score_classes,
            learn_class,
            AdaptiveTreeNumbers(growth, within, watch),
            ClassTree,
            sizes,
            classes=True,
        )


class AdaptiveTreeNumbers(NamedTuple):
    """Parameters of the fragments."""

    growth: Any
    """When leaves of the tree are split."""
    alternates: Any
    """When those of alternates are."""
    watch: Any
    """Those of ADWIN."""


class ClassTree(NamedTuple):
    """State of `hoeffding_adaptive_tree` for classes."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(ClassTrees, "the tree and its alternates, T = 1")
    monitors: Any = part(Monitors, "detectors in its nodes")
    predictions: Any = part(ClassPrediction, "what it predicts for the row")
    others: Any = part(ClassPrediction, "what an alternate predicts")
    work: Any = part(ClassWork, "working space")
    S: Array = scratch("f8[K]", "logarithms of the classes' probabilities")


class TargetTree(NamedTuple):
    """State of `hoeffding_adaptive_tree` for targets."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(TargetTrees, "the tree and its alternates, T = 1")
    monitors: Any = part(Monitors, "detectors in its nodes")
    error: Any = part(ErrorScale, "how large errors are")
    predictions: Any = part(TargetPrediction, "what it predicts for the row")
    others: Any = part(TargetPrediction, "what an alternate predicts")
    work: Any = part(TargetWork, "working space")


@fragment
def learn_class(x: Array, y: int, _omega: float, _finite: bool, p: AdaptiveTreeNumbers, memory: ClassTree) -> None:
    """Learn the row, then watch the nodes on its path. Shapes: x f8[d]."""
    tree, prediction = member(memory.trees, 0), member(memory.predictions, 0)
    wrong = largest_of(prediction.p) != y
    class_trees.learn_tree(tree, y, 1.0, p.growth, memory.work, prediction)
    watch_classes(y, 1.0 if wrong else 0.0, p, memory)
    features.count_row(x, memory.known)


@kernel
def watch_classes(y: int, error: float, p: AdaptiveTreeNumbers, memory: ClassTree) -> None:
    """Show the error to each inner node on the row's path, and the row to their alternates."""
    tree, monitors, other, work = (
        member(memory.trees, 0),
        member(memory.monitors, 0),
        member(memory.others, 0),
        memory.work,
    )
    i = 0
    for _ in range(arena.DEEPEST):
        if tree.nodes.feature[i] < 0:
            if worse(tree.nodes, monitors, i, error, p.watch):
                class_trees.begin_leaf(tree, tree.nodes.slot[i], work)
                class_trees.score_below(tree, i, work, other)
                class_trees.learn_leaf(tree, y, 1.0, p.growth, work, other)
            break
        if watch_node(tree.nodes, monitors, i, error, p.watch):
            class_trees.begin_leaf(tree, tree.nodes.slot[tree.nodes.alternate[i]], work)
        if tree.nodes.alternate[i] >= 0:
            class_trees.score_below(tree, tree.nodes.alternate[i], work, other)
            wrong = largest_of(other.p) != y
            class_trees.learn_leaf(tree, y, 1.0, p.alternates, work, other)
            if settle(tree.nodes, monitors, i, 1.0 if wrong else 0.0, p.watch):
                break
        i = arena.child_of(tree.nodes, i, work.row.x)


@fragment
def learn_target(x: Array, y: float, _omega: float, _value: float, p: AdaptiveTreeNumbers, memory: TargetTree) -> None:
    """Learn the row, then watch the nodes on its path. Shapes: x f8[d]."""
    tree, prediction = member(memory.trees, 0), member(memory.predictions, 0)
    off = y - prediction.outputs[VALUE]
    target_trees.learn_tree(tree, y, 1.0, p.growth, memory.work, prediction)
    watch_targets(y, off, p, memory)
    features.count_row(x, memory.known)


@kernel
def watch_targets(y: float, off: float, p: AdaptiveTreeNumbers, memory: TargetTree) -> None:
    """Show the error to each inner node on the row's path, and the row to their alternates."""
    tree, monitors, other, work = (
        member(memory.trees, 0),
        member(memory.monitors, 0),
        member(memory.others, 0),
        memory.work,
    )
    root = root_of(memory.error)
    error = relative(root, off)
    count_error(memory.error, off)
    i = 0
    for _ in range(arena.DEEPEST):
        if tree.nodes.feature[i] < 0:
            if worse(tree.nodes, monitors, i, error, p.watch):
                target_trees.begin_leaf(tree, tree.nodes.slot[i], y, work)
                target_trees.predict_below(tree, i, work, other)
                target_trees.learn_leaf(tree, y, 1.0, p.growth, work, other)
            break
        if watch_node(tree.nodes, monitors, i, error, p.watch):
            target_trees.begin_leaf(tree, tree.nodes.slot[tree.nodes.alternate[i]], y, work)
        if tree.nodes.alternate[i] >= 0:
            apart = y - target_trees.predict_below(tree, tree.nodes.alternate[i], work, other)
            target_trees.learn_leaf(tree, y, 1.0, p.alternates, work, other)
            if settle(tree.nodes, monitors, i, relative(root, apart), p.watch):
                break
        i = arena.child_of(tree.nodes, i, work.row.x)
