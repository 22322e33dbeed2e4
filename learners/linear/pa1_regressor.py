"""Passive-aggressive regression with a bounded step (PA-I)."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.passive_aggressive import passive_aggressive_regression
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class PA1Regressor(Learner):
    """Moves the weights towards a score within eps of each target, but never by more than C.

    Passive inside the tube |y - s| <= eps. w <- w + sign(y - s) tau x with tau = min(C, [|y - s| - eps]+ / x'x).

    Parameters
    ----------
    eps : float
        Half width of the tube, in units of the target, eps >= 0. Default 0.1.
    C : float
        Largest step, C > 0. Larger = faster and more trusting. Default 1.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    skipped : i8[1]     labelled rows whose score or step was not finite, zero rows among them

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than regression.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 5, PA-I; Huang, Online Learning,
    "PA for other tasks". ALGORITHMS.md 3.
    """

    name = "pa1_regressor"
    tasks = ("regression",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eps: float = number(0.1, at_least=0.0)
        C: float = number(1.0, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        passive_aggressive_regression(rows, y, score, p.eps, p.C, 0.0, s["weight"], s["skipped"])
