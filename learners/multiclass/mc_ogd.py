"""Multiclass online gradient descent on the hinge loss."""

from __future__ import annotations

from learners.contract import Learner, Parameters, Rule, intercept
from learners.linear.gradient_descent import first_step, step_schedule
from learners.multiclass.gradient_descent import descend, learn_hinge


class MCOGD(Learner):
    """Steps by the same amount along every row whose margin over the best wrong class is below 1.

    W_y <- W_y + eta_t x, W_s <- W_s - eta_t x where m = S_y - S_s < 1. With two classes it is `ogd_hinge` of 2 eta.

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Multi-class Online Learning"; Zinkevich, ICML 2003. ALGORITHMS.md 1.9 and 8.
    """

    name = "mc_ogd"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        eta: float = first_step()
        schedule: str = step_schedule()
        intercept: bool = intercept()

    def rule(self) -> Rule:
        p = self.parameters
        return descend(learn_hinge, p.schedule, p.eta, self.n_classes, self.width)
