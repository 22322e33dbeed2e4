"""Online gradient descent on the hinge loss."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.linear.gradient_descent import GradientDescentParameters, descend


class OGDHinge(Learner):
    """Steps by the same amount along every row whose margin is below 1.

    w <- (1 - eta_t l2) w - eta_t g x with g = -y if y s < 1, else 0.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Stochastic Gradient Descent"; Zinkevich, ICML 2003.
    docs/algorithms/conventions.md#step-size-schedules, #loss-functions and
    docs/algorithms/linear.md#ogd_hinge-ogd_logistic-ogd_square.
    """

    name = "ogd_hinge"
    tasks = ("binary",)

    Params = GradientDescentParameters

    def rule(self) -> UpdateRule:
        return descend(self.parameters, "hinge")
