"""Online gradient descent on the square loss: in regression, least mean squares (LMS)."""

from __future__ import annotations

from learners.contract import Learner, Parameters, Rule, choice, flag, intercept, number
from learners.linear.gradient_descent import (
    LOSSES,
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


class OGDSquare(Learner):
    """Steps along every row by how far its score was from the target: LMS, the Widrow-Hoff rule.

    w <- (1 - eta_t l2) w - eta_t g x with g = s - y, y the target or, with two classes, -1 or +1.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Widrow and Hoff, 1960; Huang, Online Learning, "Stochastic Gradient Descent"; Zhao and Zhou, Distribution-Free
    One-Pass Learning, section 3. ALGORITHMS.md 1.9, 1.14 and 3.
    """

    name = "ogd_square"
    tasks = ("binary", "regression")

    class Params(Parameters):
        eta: float = first_step()
        schedule: str = step_schedule()
        l2: float = penalty()
        radius: float = longest()
        loss: str = choice(
            "square",
            ("square", "eps_insensitive"),
            "`square`, or `eps_insensitive`: g is the sign of s - y outside a tube of eps.",
        )
        eps: float = number(0.1, "Half width of that tube in units of the target.", at_least=0.0)
        safe_step: bool = flag(True, "Shorten the step of the square loss to 1 / x'x; it diverges from 2 / x'x on.")
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_overshrinking(self.eta, self.l2)

    def rule(self) -> Rule:
        p = self.parameters
        loss, schedule = LOSSES.index(p.loss), SCHEDULES.index(p.schedule)
        safe = p.safe_step and p.loss == "square"
        return descend(Descent(loss, schedule, p.eta, p.l2, ball(p.radius), eps=p.eps, safe=safe), self.width)
