"""Multiclass passive-aggressive learning with a softened step (PA-II)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from learners.learner import Array, Learner
from learners.multiclass.passive_aggressive import passive_aggressive
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class MCPA2(Learner):
    """Moves two classes apart towards a margin of 1 on each row, less far the smaller C.

    Where `mc_pa1` cuts long steps off, this one shortens all of them: W_y <- W_y + tau x, W_s <- W_s - tau x with
    tau = [1 - m]+ / (2 x'x + 1 / 2C), m = S_y - S_s the margin over the best wrong class. With two classes it is `pa2`
    of 2 C.

    Parameters
    ----------
    C : float
        Price of a squared loss, C > 0. Larger = faster and more trusting. Default 0.01.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[K, d]   one row per class, d with the intercept
    skipped : i8[1]     labelled rows whose score or step was not finite, zero rows among them

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task without classes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 7, PA-II; Huang, Online Learning, "Multi-class
    Online Learning". ALGORITHMS.md 8. The margin is that over the best wrong class, as updates of one constraint.
    """

    name = "mc_pa2"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        C: float = number(0.01, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.n_classes, self.width)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        ridge = 0.5 / self.parameters.C
        s = self.state
        passive_aggressive(rows, y, score, math.inf, ridge, s["weight"], s["skipped"], np.empty(self.n_classes))
