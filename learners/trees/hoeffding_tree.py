"""The Hoeffding tree: VFDT for classes, FIMT-DD's tree for targets."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Parameters, UpdateRule, fragment, integer, number, part, scratch
from driftway.learners.engine.jit import member
from driftway.learners.learner import REGRESSION
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.preprocessing.standardizer import Statistics
from driftway.learners.trees import class_trees, features, target_trees
from driftway.learners.trees.class_leaves import ClassPrediction, ClassWork, words_of
from driftway.learners.trees.class_trees import ClassTrees, score_tree, tree_sizes
from driftway.learners.trees.nominal import NONE, nominal_columns
from driftway.learners.trees.target_leaves import WORDS, TargetPrediction, TargetWork
from driftway.learners.trees.target_trees import TargetTrees, predict_tree
from driftway.learners.trees.tree_learner import TreeLearner


class HoeffdingTree(TreeLearner):
    """A decision tree that splits a leaf as soon as its rows show, with high probability, which column is the best.

    For thresholds, interactions of columns and ids, which linear learners cannot express. It needs some hundred rows
    for each split, and no scaling. It does not forget: if concepts drift, use `hoeffding_adaptive_tree` or a forest.

    Classes: leaves have Gaussians of each column and class, split by information gain, and predict by their counts or
    by naive Bayes, whichever has been right more often. Targets: leaves have histograms, split by the reduction of the
    variance, and predict their mean or a linear model. A leaf is split when the best column is better than the second
    best by epsilon = sqrt(R^2 ln(1 / delta) / 2 n), or when epsilon < tie. A full tree gives up a
    leaf that no row reached for long, or stops growing.

    Cost
    ----
    O(d (K + depth)) per row, and 10 d K error functions every `grace` rows of a leaf; 8 L (4 d K + 2 K) bytes, with
    `max_leaves` L. Targets: O(d), 8 L (67 d + 20) bytes.

    Source
    ------
    Domingos and Hulten, KDD 2000; Gama, Rocha and Medas, KDD 2003; Holmes, Kirkby and Pfahringer, 2005 (leaves);
    Ikonomovska, Gama and Dzeroski, DMKD 2011 (targets). docs/algorithms/trees.md#hoeffding_tree.
    """

    name = "hoeffding_tree"

    class Params(Parameters):
        grace: int = integer(200, "Rows of a leaf from one try to split it to the next.", at_least=1)
        delta: float = number(
            1e-7, "Probability that another column is better than the one chosen.", above=0.0, below=1.0
        )
        tie: float = number(0.05, "Bound on epsilon below which two columns count as equally good.", at_least=0.0)
        max_leaves: int = integer(128, "L, the most leaves that the tree may have.", at_least=1, at_most=100_000)
        nominal: str = nominal_columns()

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.n_features
        if self.task == REGRESSION:
            grown = target_trees.SplitNumbers(float(p.grace), p.delta, p.tie, 1.0)
            shapes = {**tree_sizes(1, p.max_leaves, d, d, WORDS), "B2": WORDS - 2}
            return UpdateRule(score_target, learn_target, grown, TargetTree, shapes)
        growth = class_trees.SplitNumbers(float(p.grace), p.delta, p.tie)
        sizes = tree_sizes(1, p.max_leaves, d, d, words_of(self.n_classes, p.nominal != NONE))
        return UpdateRule(score_classes, learn_class, growth, ClassTree, sizes, classes=True)


class ClassTree(NamedTuple):
    """State of `hoeffding_tree` for classes."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(ClassTrees, "the tree, T = 1")
    predictions: Any = part(ClassPrediction, "what it predicts for the row")
    work: Any = part(ClassWork, "working space")
    S: Array = scratch("f8[K]", "logarithms of the classes' probabilities")


class TargetTree(NamedTuple):
    """State of `hoeffding_tree` for targets."""

    known: Any = part(Statistics, "statistics of the columns")
    trees: Any = part(TargetTrees, "the tree, T = 1")
    predictions: Any = part(TargetPrediction, "what it predicts for the row")
    work: Any = part(TargetWork, "working space")


@fragment
def score_classes(x: Array, _p: Any, memory: Any) -> None:
    """Write the logarithm of each class's probability in the leaf that the row reaches. Shapes: x f8[d]."""
    features.read(x, memory.known, memory.work.row)
    prediction = member(memory.predictions, 0)
    score_tree(member(memory.trees, 0), memory.work, prediction)
    for c in range(memory.S.shape[0]):
        memory.S[c] = log(prediction.p[c])


@fragment
def learn_class(x: Array, y: int, _omega: float, _finite: bool, p: class_trees.SplitNumbers, memory: ClassTree) -> None:
    """Add the row to its leaf, and split that if it is time. Shapes: x f8[d]."""
    class_trees.learn_tree(member(memory.trees, 0), y, 1.0, p, memory.work, member(memory.predictions, 0))
    features.count_row(x, memory.known)


@fragment
def score_target(x: Array, _p: Any, memory: Any) -> float:
    """Return what the leaf that the row reaches predicts. Shapes: x f8[d]."""
    features.read(x, memory.known, memory.work.row)
    return predict_tree(member(memory.trees, 0), memory.work, member(memory.predictions, 0))


@fragment
def learn_target(
    x: Array, y: float, _omega: float, _value: float, p: target_trees.SplitNumbers, memory: TargetTree
) -> None:
    """Add the row to its leaf, and split that if it is time. Shapes: x f8[d]."""
    target_trees.learn_tree(member(memory.trees, 0), y, 1.0, p, memory.work, member(memory.predictions, 0))
    features.count_row(x, memory.known)
