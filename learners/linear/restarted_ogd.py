"""Online gradient descent that begins anew at fixed intervals."""

from __future__ import annotations

from learners.contract import Learner, Parameters, Rule, choice, flag, integer, intercept
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


class RestartedOGD(Learner):
    """Gradient descent that forgets everything after each epoch of delta labelled rows.

    As `ogd_hinge`, `ogd_logistic` or `ogd_square`; at the end of row k delta weights and t become 0. Best for T rows
    whose losses vary by V in all: delta = (T / V)^(2/3), or (T / V)^(1/2) with l2 > 0 and ``inv_t``.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Besbes, Gur and Zeevi, Operations Research 2015; Zhang, Zhao and Jin, AAAI 2020. ALGORITHMS.md 3. Differs:
    the restart comes after a row, not before the next one, so that predicting changes no state.
    """

    name = "restarted_ogd"
    tasks = ("binary",)
    link: str | None = "logistic"

    class Params(Parameters):
        loss: str = choice("logistic", ("hinge", "logistic", "square"), "`hinge`, `logistic` or `square`.")
        delta: int = integer(1000, "Labelled rows between restarts.", at_least=1)
        eta: float = first_step()
        schedule: str = step_schedule()
        l2: float = penalty()
        radius: float = longest()
        safe_step: bool = flag(True, "Shorten the step of the square loss to 1 / x'x; it diverges from 2 / x'x on.")
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_overshrinking(self.eta, self.l2)

    def rule(self) -> Rule:
        p = self.parameters
        loss, schedule = LOSSES.index(p.loss), SCHEDULES.index(p.schedule)
        safe = p.safe_step and p.loss == "square"
        return descend(Descent(loss, schedule, p.eta, p.l2, ball(p.radius), p.delta, safe=safe), self.width)

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None
