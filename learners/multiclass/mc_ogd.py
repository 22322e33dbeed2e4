"""Multiclass online gradient descent on the hinge loss."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.multiclass.gradient_descent import ClassDescentParameters, descend, learn_hinge


class MCOGD(Learner):
    """Steps by the same amount along every row whose margin over the best wrong class is below 1.

    W_y <- W_y + eta_t x, W_s <- W_s - eta_t x if m = S_y - S_s < 1. With two classes it is `ogd_hinge` with 2 eta.

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Multi-class Online Learning"; Zinkevich, ICML 2003.
    docs/algorithms/conventions.md#step-size-schedules and docs/algorithms/multiclass.md#mc_ogd.
    """

    name = "mc_ogd"
    tasks = ("binary", "multiclass")

    Params = ClassDescentParameters

    def rule(self) -> UpdateRule:
        return descend(learn_hinge, self.parameters)
