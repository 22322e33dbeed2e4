"""Online gradient descent on the logistic loss."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.linear.gradient_descent import GradientDescentParameters, descend


class OGDLogistic(Learner):
    """Logistic regression by gradient descent: each row moves the weights by how improbable its label was.

    w <- (1 - eta_t l2) w - eta_t g x with g = -y / (1 + exp(y s)).

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Stochastic Gradient Descent"; Zinkevich, ICML 2003.
    docs/algorithms/conventions.md#step-size-schedules, #loss-functions and
    docs/algorithms/linear.md#ogd_hinge-ogd_logistic-ogd_square.
    """

    name = "ogd_logistic"
    tasks = ("binary",)
    link = "logistic"

    Params = GradientDescentParameters

    def rule(self) -> UpdateRule:
        return descend(self.parameters, "logistic")
