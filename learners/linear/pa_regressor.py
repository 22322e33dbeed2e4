"""Passive-aggressive regression (PA)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.passive_aggressive import passive_aggressive_regression
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class PARegressor(Learner):
    """Moves the weights just far enough to bring each row's score within eps of its target.

    Passive inside the tube |y - s| <= eps. w <- w + sign(y - s) tau x with tau = [|y - s| - eps]+ / x'x.

    Parameters
    ----------
    eps : float
        Half width of the tube, in units of the target, eps >= 0. Default 0.1.
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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 5, PA; Huang, Online Learning,
    "PA for other tasks". ALGORITHMS.md 3.
    """

    name = "pa_regressor"
    tasks = ("regression",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eps: float = number(0.1, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        passive_aggressive_regression(rows, y, score, p.eps, math.inf, 0.0, s["weight"], s["skipped"])
