"""The multiclass perceptron that blames the highest wrong class."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.multiclass.ultraconservative import MAX, correct


class MCPerceptronMax(Learner):
    """Adds every row that it gets wrong to its class and takes it from the class that was predicted.

    The simplest multiclass learner: W_y <- W_y + x, W_s <- W_s - x, with s the best wrong class, if a class other than
    y is predicted; no change otherwise.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer and Singer, JMLR 2003, the ultraconservative family; Huang, Online Learning, "Multi-class Online Learning",
    max-score update. docs/algorithms/multiclass.md#mc_perceptron_max. With two classes, a tie is not a mistake on a row
    of class 0, although a score of 0 predicts class 1; prefer `perceptron` there.
    """

    name = "mc_perceptron_max"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return correct(MAX)
