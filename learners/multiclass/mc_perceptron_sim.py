"""The multiclass perceptron that blames classes in proportion to how much too high they scored."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.multiclass.ultraconservative import SIMILARITY, correct


class MCPerceptronSim(Learner):
    """Adds every row that it gets wrong to its class and takes it from classes by how much higher they scored.

    Between `mc_perceptron_max` and `mc_perceptron_uniform`: W_y <- W_y + x, W_r <- W_r - x (S_r - S_y) / sum of these,
    for r in E = {r != y: S_r >= S_y}, where a class other than y is predicted. In equal parts if all of E ties with y.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer and Singer, JMLR 2003, the ultraconservative family; Huang, Online Learning, "Multi-class Online Learning",
    similarity-based update. docs/algorithms/multiclass.md#mc_perceptron_sim. Of two classes, a tie is no mistake on a
    row of class 0, though its score of 0 stands for class 1: `perceptron` is the better choice there.
    """

    name = "mc_perceptron_sim"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return correct(SIMILARITY)
