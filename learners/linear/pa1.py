"""Passive-aggressive learning with a bounded step (PA-I)."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.passive_aggressive import passive_aggressive
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class PA1(Learner):
    """Moves the weights just far enough to give each row a margin of 1, but never by more than C.

    Passive while the margin holds, aggressive when it does not; C keeps one noisy label from undoing much.
    w <- w + tau y x with tau = min(C, [1 - y s]+ / x'x).

    Parameters
    ----------
    C : float
        Largest step, C > 0. Larger = faster and more trusting. Default 0.1.
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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, figure 1, PA-I; Huang, Online Learning,
    "First-order Methods". ALGORITHMS.md 3.
    """

    name = "pa1"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        C: float = number(0.1, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        passive_aggressive(rows, y, score, self.parameters.C, 0.0, self.state["weight"], self.state["skipped"])
