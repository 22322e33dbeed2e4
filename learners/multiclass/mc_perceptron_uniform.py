"""The multiclass perceptron that blames all classes that scored too high equally."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.multiclass.ultraconservative import UNIFORM, correct


class MCPerceptronUniform(Learner):
    """Adds every row that it gets wrong to its class and takes it in equal parts from all classes that scored no less.

    Moves more classes at a time than `mc_perceptron_max`, each less far: W_y <- W_y + x, W_r <- W_r - x / #E for r in
    E = {r != y: S_r >= S_y}, if a class other than y is predicted.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer and Singer, JMLR 2003, the ultraconservative family; Huang, Online Learning, "Multi-class Online Learning",
    uniform update. docs/algorithms/multiclass.md#mc_perceptron_uniform. With two classes, a tie is not a mistake on a
    row of class 0, although a score of 0 predicts class 1; prefer `perceptron` there.
    """

    name = "mc_perceptron_uniform"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return correct(UNIFORM)
