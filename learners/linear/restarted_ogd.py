"""Online gradient descent that begins anew at fixed intervals."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.gradient_descent import (
    LOSSES,
    SCHEDULES,
    ball,
    gradient_descent,
    refuse_overshrinking,
)
from learners.parameters import Parameters, choice, flag, integer, number
from learners.state import Fields


class RestartedOGD(Learner):
    """Gradient descent that forgets everything after each epoch of delta labelled rows.

    As `ogd_hinge`, `ogd_logistic` or `ogd_square`; at the end of row k delta weights and t become 0. Best for T rows
    whose losses vary by V in all: delta = (T / V)^(2/3), or (T / V)^(1/2) with l2 > 0 and ``inv_t``.

    Parameters
    ----------
    loss : str
        ``hinge``, ``logistic`` or ``square``. Default ``logistic``.
    delta : int
        Labelled rows between restarts, delta >= 1. Default 1000.
    eta : float
        Step size of the first row, eta > 0. Default 1.0.
    schedule : str
        Step at labelled row t: ``const`` eta, ``inv_sqrt`` eta / sqrt(t), ``inv_t`` eta / t. On streams that drift
        ``const`` with eta 0.01 to 0.1. Default ``inv_sqrt``.
    l2 : float
        Weight of the penalty |w|^2 / 2, 0 <= l2 <= 1/eta. Default 0.0.
    radius : float
        Longest weight vector, longer ones are scaled back, radius >= 0; 0 = no bound. Default 0.0.
    safe_step : bool
        Shorten the step of the square loss to 1 / x'x; it diverges from 2 / x'x on. Default true.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    learned : i8[1]     t, labelled rows since the last restart
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
    Besbes, Gur and Zeevi, Operations Research 2015; Zhang, Zhao and Jin, AAAI 2020. ALGORITHMS.md 3. Differs:
    the restart comes after a row, not before the next one, so that predicting changes no state.
    """

    name = "restarted_ogd"
    tasks = ("binary",)
    link: str | None = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        loss: str = choice("logistic", ("hinge", "logistic", "square"))
        delta: int = integer(1000, at_least=1)
        eta: float = number(1.0, above=0.0)
        schedule: str = choice("inv_sqrt", SCHEDULES)
        l2: float = number(0.0, at_least=0.0)
        radius: float = number(0.0, at_least=0.0)
        safe_step: bool = flag(True)
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_overshrinking(self.eta, self.l2)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        gradient_descent(
            rows,
            y,
            score,
            True,
            LOSSES.index(p.loss),
            0.0,
            p.safe_step and p.loss == "square",
            SCHEDULES.index(p.schedule),
            p.eta,
            p.l2,
            ball(p.radius),
            p.delta,
            s["weight"],
            s["learned"],
            s["skipped"],
        )
