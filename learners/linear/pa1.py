"""Passive-aggressive learning with a bounded step (PA-I)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, number
from learners.state import Fields
from learners.vectors import dot, step_along


class PA1(Learner):
    """Moves the weights just far enough to give each row a margin of 1, but never by more than C.

    Passive while the margin holds, aggressive when it does not; C keeps one noisy label from undoing much.

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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, PA-I; Huang, Online Learning,
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
        passive_aggressive_1(rows, y, score, self.parameters.C, self.state["weight"], self.state["skipped"])


@bare_kernel
def passive_aggressive_1(
    rows: Array, y: Array, score: Array, C: float, weight: Array, skipped: NDArray[np.int64]
) -> None:
    """Predict, then project onto the half-space in which the row has margin 1, by at most C.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], skipped i8[1]. ALGORITHMS.md 3, `pa1`.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        loss = 1.0 - label * s  # step 1
        if (finite and loss <= 0.0) or math.isnan(label):
            continue
        x2 = dot(x, x)  # step 2
        if not (finite and 0.0 < x2 < math.inf):
            skipped[0] += 1
            continue
        tau = min(C, loss / x2)  # step 3
        if not step_along(weight, x, tau * label):  # step 4
            skipped[0] += 1
