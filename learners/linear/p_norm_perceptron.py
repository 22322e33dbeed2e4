"""The p-norm perceptron."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.linear.alma import ALMANumbers, adding
from driftway.learners.linear.p_norm import exponent, exponent_for
from driftway.learners.linear.perceptron import ties


class PNormPerceptron(Learner):
    """The perceptron in other geometries: from the sum of the rows it got wrong (p = 2) almost to Winnow (p = ln d).

    theta <- theta + alpha y x if y s <= 0; s = w'x with w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2).

    Cost
    ----
    O(d) per row, plus 2 d powers for each row learned unless p = 2; 8 d + 8 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3 and equation 1, after Grove, Littlestone and Schuurmans.
    docs/algorithms/linear.md#p_norm_perceptron.
    """

    name = "p_norm_perceptron"
    tasks = ("binary",)

    class Params(Parameters):
        alpha: float = number(1.0, "Step size.", above=0.0)
        p: float | str = exponent()
        ties: str = ties()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        a = self.parameters
        return adding(ALMANumbers(exponent_for(a.p, self.width), a.alpha, 0.0, math.inf, a.ties == "update"))
