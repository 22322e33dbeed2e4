"""Online gradient descent on the logistic loss."""

from __future__ import annotations

from learners.contract import Learner, Parameters, Rule, intercept
from learners.linear.gradient_descent import (
    LOGISTIC,
    SCHEDULES,
    Descent,
    ball,
    descend,
    first_step,
    longest,
    penalty,
    refuse_overshrinking,
    step_schedule,
)


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

    class Params(Parameters):
        eta: float = first_step()
        schedule: str = step_schedule()
        l2: float = penalty()
        radius: float = longest()
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_overshrinking(self.eta, self.l2)

    def rule(self) -> Rule:
        p = self.parameters
        return descend(Descent(LOGISTIC, SCHEDULES.index(p.schedule), p.eta, p.l2, ball(p.radius)), self.width)
