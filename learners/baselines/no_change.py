"""The previous row's label."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters
from learners.state import Fields


class NoChange(Learner):
    """Predicts the last label again; looks at no feature.

    On streams whose labels come in runs it is hard to beat, and a high accuracy below it means little.

    State
    -----
    last : f8[1]        the last label: class index, or target in regression
    labels : i8[1]      labelled rows so far

    Cost
    ----
    O(K) per row; 16 bytes.

    Raises
    ------
    ParameterError
        Any parameter: it has none.

    Source
    ------
    ALGORITHMS.md 2. Scores: -1 or +1 (binary, +1 before the first label), 1 for the last class and 0 else
    (multiclass), the last target (regression, 0 before the first).
    """

    name = "no_change"
    tasks = ("binary", "multiclass", "regression")
    uses_features = False

    @dataclass(frozen=True)
    class Params(Parameters):
        pass

    def fields(self) -> Fields:
        return {"last": ("f8", (1,)), "labels": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        no_change(y, score, self.kind == "binary", self.state["last"], self.state["labels"])


@bare_kernel
def no_change(y: Array, score: Array, binary: bool, last: Array, labels: NDArray[np.int64]) -> None:
    """Score by the last label, then remember the row's.

    Shapes: y f8[n], score f8[n, k], last f8[1], labels i8[1].
    """
    n, columns = score.shape
    previous = last[0]
    if labels[0] == 0:
        previous = 1.0 if binary else 0.0 if columns == 1 else -1.0  # no class is -1: all scores are 0
    known = 0
    for t in range(n):
        known += math.isfinite(y[t])
    if 0 < known == n:  # no row waits for the one before it, which makes this a third of the other loop
        announce(previous, score, 0, binary)
        for t in range(1, n):
            announce(y[t - 1], score, t, binary)
        last[0] = y[n - 1]
    else:
        for t in range(n):
            announce(previous, score, t, binary)
            if math.isfinite(y[t]):
                previous = y[t]
        if known > 0:
            last[0] = previous
    labels[0] += known


@fragment
def announce(label: float, score: Array, t: int, binary: bool) -> None:
    """Write the scores of row t that stand for `label`. Shapes: score f8[n, k]."""
    if binary:
        score[t, 0] = 2.0 * label - 1.0
    elif score.shape[1] == 1:
        score[t, 0] = label
    else:
        for c in range(score.shape[1]):
            score[t, c] = 1.0 if c == int(label) else 0.0
