"""Online gradient descent on the logistic loss."""

from driftway.learners.contract import Learner, Rule
from driftway.learners.linear.gradient_descent import Descending, descend


class OGDLogistic(Learner):
    """Logistic regression by gradient descent: each row moves the weights by how improbable its label was.

    w <- (1 - eta_t l2) w - eta_t g x with g = -y / (1 + exp(y s)).

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Stochastic Gradient Descent"; Zinkevich, ICML 2003. ALGORITHMS.md 1.9, 1.14 and 3.
    """

    name = "ogd_logistic"
    tasks = ("binary",)
    link = "logistic"

    Params = Descending

    def rule(self) -> Rule:
        return descend(self.parameters, "logistic")
