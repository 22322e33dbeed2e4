"""Passive-aggressive learning (PA)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.passive_aggressive import passive_aggressive
from learners.parameters import Parameters, flag
from learners.state import Fields


class PA(Learner):
    """Moves the weights just far enough to give each row a margin of 1.

    Passive while the margin holds, aggressive when it does not: it fits every noisy label exactly, and a tiny row
    moves it far. `pa1` and `pa2` bound that. w <- w + tau y x with tau = [1 - y s]+ / x'x.

    Parameters
    ----------
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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, figure 1, PA; Huang, Online Learning,
    "First-order Methods". ALGORITHMS.md 3.
    """

    name = "pa"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        passive_aggressive(rows, y, score, math.inf, 0.0, self.state["weight"], self.state["skipped"])
