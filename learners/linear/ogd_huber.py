"""Online gradient descent on the Huber loss: regression in which an outlier moves the weights by a bounded step."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.linear.gradient_descent import GradientDescentParameters, descend, safe_step


class OGDHuber(Learner):
    """Least mean squares that an outlier cannot throw off: squared loss for small errors, absolute loss for large ones.

    w <- (1 - eta_t l2) w - eta_t g x with g = s - y where |s - y| <= delta, else delta sign(s - y). Prefer it to
    `ogd_square` if some targets are wrong or heavy-tailed; delta is the error above which a row is an outlier.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Huber, Annals of Mathematical Statistics 35, 1964; Huang, Online Learning, "Stochastic Gradient Descent".
    docs/algorithms/linear.md#ogd_huber.
    """

    name = "ogd_huber"
    tasks = ("regression",)

    class Params(GradientDescentParameters):
        delta: float = number(1.0, "Error above which the loss is linear, in units of the target.", above=0.0)
        safe_step: bool = safe_step()

    def rule(self) -> UpdateRule:
        p = self.parameters
        return descend(p, "huber", eps=p.delta, safe=p.safe_step)
