"""Pegasos: the support vector machine, one row at a time."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, flag, intercept, number
from driftway.learners.linear.gradient_descent import HINGE, INV_T, GradientDescentNumbers, descent


class Pegasos(Learner):
    """Gradient descent on the regularised hinge loss, with steps and a ball that the regularisation fixes.

    With eta_t = 1 / (lam t): w <- (1 - eta_t lam) w; w <- w + eta_t y x if y s < 1; w <- w min(1, 1 / (sqrt(lam) |w|)).
    That is `ogd_hinge` with eta = 1/lam, ``inv_t``, l2 = lam and radius = 1/sqrt(lam).

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Shalev-Shwartz, Singer and Srebro, ICML 2007, figure 1 with one row a step. docs/algorithms/linear.md#pegasos.
    """

    name = "pegasos"
    tasks = ("binary",)

    class Params(Parameters):
        lam: float = number(0.001, "Regularisation. Smaller = larger steps.", above=0.0)
        project: bool = flag(True, "Keep the weights in the ball of radius 1/sqrt(lam), which holds the optimum.")
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        radius = 1.0 / math.sqrt(p.lam) if p.project else math.inf
        return descent(GradientDescentNumbers(HINGE, INV_T, 1.0 / p.lam, p.lam, radius))
