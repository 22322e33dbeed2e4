"""The elimination learner of conjunctions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters
from learners.state import Fields


class Conjunction(Learner):
    """Finds the conjunction of literals (x_j, not x_j) that is true of class 1, by striking out what a row refutes.

    For boolean features: a value above 0.5 is true, and nothing is ever standardised. Makes at most d + 1
    mistakes where such a conjunction exists; elsewhere one mislabelled row of class 1 spoils it for good.

    State
    -----
    positive : i8[d]        1 where x_j is still in the conjunction, at first everywhere
    negative : i8[d]        1 where not x_j still is, likewise
    inconsistent : i8[1]    rows of class 0 that the conjunction held for: no conjunction can repair them

    Cost
    ----
    O(d) per row; 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        Any parameter (it has none), or a task other than two classes.

    Source
    ------
    Tao and Lu, From Online to Non-i.i.d. Batch Learning, section 2.3 (Valiant, CACM 27, 1984). ALGORITHMS.md 3.
    """

    name = "conjunction"
    tasks = ("binary",)
    standardizable = False

    @dataclass(frozen=True)
    class Params(Parameters):
        pass

    def fields(self) -> Fields:
        d = self.n_features
        return {"positive": ("i8", (d,)), "negative": ("i8", (d,)), "inconsistent": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["positive"][:] = 1
        self.state["negative"][:] = 1

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        eliminate(rows, y, score, s["positive"], s["negative"], s["inconsistent"])


@bare_kernel
def eliminate(
    rows: Array,
    y: Array,
    score: Array,
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    inconsistent: NDArray[np.int64],
) -> None:
    """Predict class 1 (score 1) if every literal holds, else class 0 (score -1); drop literals false in class 1.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], positive i8[d], negative i8[d], inconsistent i8[1].
    ALGORITHMS.md 3. Literals only ever leave.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        violated = 0
        for j in range(d):
            violated |= negative[j] if x[j] > 0.5 else positive[j]
        score[t, 0] = 1.0 if violated == 0 else -1.0
        if math.isnan(y[t]):
            continue
        if y[t] > 0.5 and violated != 0:
            for j in range(d):
                if x[j] > 0.5:
                    negative[j] = 0
                else:
                    positive[j] = 0
        elif y[t] <= 0.5 and violated == 0:
            inconsistent[0] += 1
