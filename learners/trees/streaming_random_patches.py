"""Streaming random patches."""

from driftway.learners.contract import Parameters, UpdateRule, integer, number
from driftway.learners.learner import REGRESSION
from driftway.learners.trees import class_trees, target_trees
from driftway.learners.trees.class_forest import ClassForest, learn_class, score_classes
from driftway.learners.trees.forest import columns_of_patch, forest_sizes, given, seed_forest
from driftway.learners.trees.nominal import nominal_columns
from driftway.learners.trees.target_forest import TargetForest, learn_target, score_target
from driftway.learners.trees.tree_learner import TreeLearner


class StreamingRandomPatches(TreeLearner):
    """Hoeffding trees on random subsets of the columns, each of which is replaced where its errors increase.

    As `adaptive_random_forest`, but the columns are drawn for a whole tree, not for each leaf, and more of them: often
    more accurate, at a higher price. A new tree draws new columns. Trees vote with their leaves' probabilities,
    weighted by their accuracy; targets: the mean.

    Cost
    ----
    O(T (m K + depth)) per row, with T trees of m columns; 16 T L (4 m K + 2 K) bytes and 7 KB for each tree, with
    `max_leaves` L. Targets: O(T (m + d)), 16 T L (67 m + d).

    Source
    ------
    Gomes, Read and Bifet, Streaming random patches for evolving data stream classification, ICDM 2019; targets: Gomes,
    Montiel, Mastelini, Pfahringer and Bifet, On ensemble techniques for data stream regression, IJCNN 2020.
    docs/algorithms/trees.md#streaming_random_patches.
    """

    name = "streaming_random_patches"

    class Params(Parameters):
        trees: int = integer(10, "T, number of trees.", at_least=1, at_most=1000)
        share: float = number(0.6, "Share of the columns that a tree has, rounded.", above=0.0, at_most=1.0)
        weight: float = number(
            6.0, "Mean of the random weight with which a tree learns a row.", above=0.0, at_most=30.0
        )
        grace: int = integer(50, "Weight of a leaf's rows from one try to split it to the next.", at_least=1)
        delta: float = number(
            0.01, "Probability that another column is better than the one chosen.", above=0.0, below=1.0
        )
        tie: float = number(0.05, "Bound on epsilon below which two columns count as equally good.", at_least=0.0)
        warning: float = number(1e-4, "Confidence of the ADWINs that warn.", above=0.0, below=1.0)
        drift: float = number(1e-5, "Confidence of the ADWINs that find drifts.", above=0.0, below=1.0)
        max_leaves: int = integer(64, "L, the most leaves that a tree may have.", at_least=1, at_most=100_000)
        nominal: str = nominal_columns()
        seed: int = integer(1, "Seed of columns and weights.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.n_features
        m = columns_of_patch(p.share, d)
        sizes = forest_sizes(p, m, m, self.n_classes)
        if self.task == REGRESSION:
            grown = target_trees.SplitNumbers(float(p.grace), p.delta, p.tie, 1.0)
            return UpdateRule(score_target, learn_target, given(p, grown), TargetForest, sizes)
        growth = class_trees.SplitNumbers(float(p.grace), p.delta, p.tie)
        return UpdateRule(score_classes, learn_class, given(p, growth), ClassForest, sizes, classes=True)

    def initialise(self) -> None:
        super().initialise()
        seed_forest(self.state, self.parameters.seed)
