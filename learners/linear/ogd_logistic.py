"""Online gradient descent on the logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.gradient_descent import (
    LOGISTIC,
    NEVER,
    SCHEDULES,
    ball,
    gradient_descent,
    refuse_overshrinking,
)
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields


class OGDLogistic(Learner):
    """Logistic regression by gradient descent: each row moves the weights by how improbable its label was.

    w <- (1 - eta_t l2) w - eta_t g x with g = -y / (1 + exp(y s)).

    Parameters
    ----------
    eta : float
        Step size of the first row, eta > 0. Default 1.0.
    schedule : str
        Step at labelled row t: ``const`` eta, ``inv_sqrt`` eta / sqrt(t), ``inv_t`` eta / t. On streams that drift
        ``const`` with eta 0.01 to 0.1. Default ``inv_sqrt``.
    l2 : float
        Weight of the penalty |w|^2 / 2, 0 <= l2 <= 1/eta. Default 0.0.
    radius : float
        Longest weight vector, longer ones are scaled back, radius >= 0; 0 = no bound. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    learned : i8[1]     t, labelled rows so far
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, l2 > 1/eta, or a task other than two classes.

    Source
    ------
    Huang, Online Learning, "Stochastic Gradient Descent"; Zinkevich, ICML 2003. ALGORITHMS.md 1.9, 1.14 and 3.
    """

    name = "ogd_logistic"
    tasks = ("binary",)
    link = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(1.0, above=0.0)
        schedule: str = choice("inv_sqrt", SCHEDULES)
        l2: float = number(0.0, at_least=0.0)
        radius: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_overshrinking(self.eta, self.l2)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        gradient_descent(
            rows,
            y,
            score,
            True,
            LOGISTIC,
            0.0,
            False,
            SCHEDULES.index(p.schedule),
            p.eta,
            p.l2,
            ball(p.radius),
            NEVER,
            s["weight"],
            s["learned"],
            s["skipped"],
        )
