"""The multiclass perceptron that blames wrong classes in proportion to their excess score."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.multiclass.ultraconservative import SIMILARITY, correct


class MCPerceptronSim(Learner):
    """Adds every row that it gets wrong to its class and subtracts it from higher classes according to their excess.

    Between `mc_perceptron_max` and `mc_perceptron_uniform`: W_y <- W_y + x, W_r <- W_r - x (S_r - S_y) / sum of these,
    for r in E = {r != y: S_r >= S_y}, if a class other than y is predicted. In equal parts if all of E ties with y.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer and Singer, JMLR 2003, the ultraconservative family; Huang, Online Learning, "Multi-class Online Learning",
    similarity-based update. docs/algorithms/multiclass.md#mc_perceptron_sim. With two classes, a tie is not a mistake
    on a row of class 0, although a score of 0 predicts class 1; prefer `perceptron` there.
    """

    name = "mc_perceptron_sim"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return correct(SIMILARITY)
