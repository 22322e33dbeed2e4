"""Online gradient descent on the hinge loss."""

from driftway.learners.contract import Learner, Rule
from driftway.learners.linear.gradient_descent import Descending, descend


class OGDHinge(Learner):
    """Steps by the same amount along every row whose margin is below 1.

    w <- (1 - eta_t l2) w - eta_t g x with g = -y if y s < 1, else 0.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Stochastic Gradient Descent"; Zinkevich, ICML 2003. ALGORITHMS.md 1.9, 1.14 and 3.
    """

    name = "ogd_hinge"
    tasks = ("binary",)

    Params = Descending

    def rule(self) -> Rule:
        return descend(self.parameters, "hinge")
