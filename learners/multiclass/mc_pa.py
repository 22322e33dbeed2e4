"""Multiclass passive-aggressive learning."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from learners.learner import Array, Learner
from learners.multiclass.passive_aggressive import passive_aggressive
from learners.parameters import Parameters, flag
from learners.state import Fields


class MCPA(Learner):
    """Moves two classes just far enough apart to give each row a margin of 1 over the best wrong class.

    Passive while the margin m = S_y - S_s holds, aggressive when it does not; fits every label, noise too.
    W_y <- W_y + tau x, W_s <- W_s - tau x with tau = [1 - m]+ / 2 x'x. With two classes it is `pa`.

    Parameters
    ----------
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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 7; Huang, Online Learning, "Multi-class
    Online Learning". ALGORITHMS.md 8. The margin is that over the best wrong class, as updates of one constraint.
    """

    name = "mc_pa"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.n_classes, self.width)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        passive_aggressive(rows, y, score, math.inf, 0.0, s["weight"], s["skipped"], np.empty(self.n_classes))
