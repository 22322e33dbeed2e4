"""The adaptive random forest."""

from driftway.learners.contract import Parameters, UpdateRule, integer, number
from driftway.learners.learner import REGRESSION
from driftway.learners.trees import class_trees, target_trees
from driftway.learners.trees.class_forest import ClassForest, learn_class, score_classes
from driftway.learners.trees.forest import forest_sizes, given, root_of_columns, seed_forest
from driftway.learners.trees.nominal import nominal_columns
from driftway.learners.trees.target_forest import TargetForest, learn_target, score_target
from driftway.learners.trees.tree_learner import TreeLearner


class AdaptiveRandomForest(TreeLearner):
    """A random forest of Hoeffding trees, each of which is replaced where its errors increase.

    The strongest learner here on many streams with interactions, thresholds or ids, also under drift. Each leaf looks
    at a few columns that are drawn when it begins, and each tree learns a row with a weight from Poisson(6), so that
    trees differ. Trees vote with their leaves' probabilities, weighted by their accuracy; targets: the mean.

    Each tree has two ADWINs on its errors. At a warning, a new tree begins in the background and learns the same rows;
    at a drift it takes the place of the old one. Trees grow as `hoeffding_tree`.

    Cost
    ----
    O(T (m K + depth)) per row, with T trees and m columns in a leaf; 16 T L (4 m K + 2 K) bytes and 7 KB for each tree,
    with `max_leaves` L. Targets: O(T (m + d)), 16 T L (67 m + d).

    Source
    ------
    Gomes, Bifet, Read and others, Adaptive random forests for evolving data stream classification, Machine Learning
    106, 2017; targets: Gomes, Barddal, Ferreira and Bifet, ESANN 2018. docs/algorithms/trees.md#adaptive_random_forest.
    """

    name = "adaptive_random_forest"

    class Params(Parameters):
        trees: int = integer(10, "T, number of trees.", at_least=1, at_most=1000)
        columns: int = integer(0, "m, columns at which a leaf looks; 0: sqrt(d) + 1. At most d.", at_least=0)
        weight: float = number(
            6.0, "Mean of the random weight with which a tree learns a row.", above=0.0, at_most=30.0
        )
        grace: int = integer(50, "Weight of a leaf's rows from one try to split it to the next.", at_least=1)
        delta: float = number(
            0.01, "Probability that another column is better than the one chosen.", above=0.0, below=1.0
        )
        tie: float = number(0.05, "Bound on epsilon below which two columns count as equally good.", at_least=0.0)
        warning: float = number(0.01, "Confidence of the ADWINs that warn.", above=0.0, below=1.0)
        drift: float = number(0.001, "Confidence of the ADWINs that find drifts.", above=0.0, below=1.0)
        max_leaves: int = integer(64, "L, the most leaves that a tree may have.", at_least=1, at_most=100_000)
        nominal: str = nominal_columns()
        seed: int = integer(1, "Seed of columns and weights.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.n_features
        sizes = forest_sizes(p, d, min(p.columns or root_of_columns(d), d), self.n_classes)
        if self.task == REGRESSION:
            grown = target_trees.SplitNumbers(float(p.grace), p.delta, p.tie, 1.0)
            return UpdateRule(score_target, learn_target, given(p, grown), TargetForest, sizes)
        growth = class_trees.SplitNumbers(float(p.grace), p.delta, p.tie)
        return UpdateRule(score_classes, learn_class, given(p, growth), ClassForest, sizes, classes=True)

    def initialise(self) -> None:
        super().initialise()
        seed_forest(self.state, self.parameters.seed)
