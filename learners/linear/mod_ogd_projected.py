"""Gradient descent on the square loss for moving targets: constant step size, weights within a ball."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.linear.gradient_descent import CONST, SQUARE, GradientDescentNumbers, descent, safe_step


class ModOGDProjected(Learner):
    """Steps along every row in proportion to its error and scales the weights back when they get too long.

    `ogd_square` for tracking: steps do not shrink, and the weights are bounded; without that bound, no loss bound
    holds when the best weights move. w <- w - eta (s - y) x, then w <- w radius / |w| if |w| > radius.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Herbster and Warmuth, JMLR 1, 2001; reference 10 of Kivinen, Smola and Williamson, ALT 2002.
    docs/algorithms/linear.md#mod_ogd_projected. Differs: safe_step.
    """

    name = "mod_ogd_projected"
    tasks = ("regression",)

    class Params(Parameters):
        eta: float = number(0.1, "Step size.", above=0.0)
        radius: float = number(10.0, "Longest weight vector, longer ones are scaled back.", above=0.0)
        safe_step: bool = safe_step()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        return descent(GradientDescentNumbers(SQUARE, CONST, p.eta, 0.0, p.radius, safe=p.safe_step))
