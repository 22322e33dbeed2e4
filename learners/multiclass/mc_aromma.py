"""Multiclass aggressive ROMMA, the relaxed online maximum margin algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.learner import Array, Learner
from learners.multiclass.relaxed_margin import relaxed_maximum_margin
from learners.parameters import Parameters, flag
from learners.state import Fields


class MCAROMMA(Learner):
    """Keeps the shortest weights that give each row a margin of 1 and all rows before it no less than they had.

    What was learned before is held as one half-space instead of all rows: <W, U> >= |W|^2. On m < mu, with m the margin
    over the best wrong class and phi the row in its own class, negated in the other: W <- c W + e phi,
    c = (|phi|^2 |W|^2 - mu m) / D, e = |W|^2 (mu - m) / D, D = |phi|^2 |W|^2 - m^2. With two classes it is `aromma`.

    Parameters
    ----------
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[K, d]   one row per class, d with the intercept
    mu : f8[1]          margin aimed at, in units of `weight`: 1 until the weights are scaled down
    skipped : i8[1]     labelled rows whose score or step was not finite, zero rows among them

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task without classes.

    Source
    ------
    Li and Long, Machine Learning 46, 2002, aggressive ROMMA; for several classes ALGORITHMS.md 8. Differs: (W, mu) is
    rescaled together, which changes no prediction; rows parallel to the weights only correct their length.
    """

    name = "mc_aromma"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.n_classes, self.width)), "mu": ("f8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["mu"][0] = 1.0

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s, S = self.state, np.empty(self.n_classes)
        flat = s["weight"].reshape(-1)
        relaxed_maximum_margin(rows, y, score, True, s["weight"], flat, s["mu"], s["skipped"], S)
