"""Online gradient descent on the square loss: in regression, least mean squares (LMS)."""

from driftway.learners.contract import Learner, UpdateRule, choice, number
from driftway.learners.linear.gradient_descent import GradientDescentParameters, descend, safe_step


class OGDSquare(Learner):
    """Steps along every row by how far its score was from the target: LMS, the Widrow-Hoff rule.

    w <- (1 - eta_t l2) w - eta_t g x with g = s - y, where y is the target or, with two classes, -1 or +1.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Widrow and Hoff, 1960; Huang, Online Learning, "Stochastic Gradient Descent"; Zhao and Zhou, Distribution-Free
    One-Pass Learning, section 3. docs/algorithms/conventions.md#step-size-schedules, #loss-functions and
    docs/algorithms/linear.md#ogd_hinge-ogd_logistic-ogd_square.
    """

    name = "ogd_square"
    tasks = ("binary", "regression")

    class Params(GradientDescentParameters):
        loss: str = choice(
            "square",
            ("square", "eps_insensitive"),
            "`square`, or `eps_insensitive`: g is the sign of s - y outside a tube of eps.",
        )
        eps: float = number(0.1, "Half width of that tube in units of the target.", at_least=0.0)
        safe_step: bool = safe_step()

    def rule(self) -> UpdateRule:
        p = self.parameters
        return descend(p, p.loss, eps=p.eps, safe=p.safe_step)
