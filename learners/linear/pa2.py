"""Passive-aggressive learning with a softened step (PA-II)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.passive_aggressive import passive_aggressive
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class PA2(Learner):
    """Moves the weights towards a margin of 1 on each row, less far the smaller C.

    Where `pa1` cuts long steps off, this one shortens all of them: w <- w + tau y x with
    tau = [1 - y s]+ / (x'x + 1 / 2C).

    Parameters
    ----------
    C : float
        Price of a squared loss, C > 0. Larger = faster and more trusting. Default 0.01.
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
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, figure 1, PA-II; Huang, Online Learning,
    "First-order Methods". ALGORITHMS.md 3.
    """

    name = "pa2"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        C: float = number(0.01, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        ridge = 0.5 / self.parameters.C
        passive_aggressive(rows, y, score, math.inf, ridge, self.state["weight"], self.state["skipped"])
