"""The previous row's label."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
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
    columns = score.shape[1]
    previous, seen = last[0], labels[0]
    if binary and seen == 0:
        previous = 1.0
    for t in range(y.shape[0]):
        if binary:
            score[t, 0] = 2.0 * previous - 1.0
        elif columns == 1:
            score[t, 0] = previous
        else:
            for c in range(columns):
                score[t, c] = 1.0 if seen > 0 and c == int(previous) else 0.0
        if math.isfinite(y[t]):
            previous = y[t]
            seen += 1
    if seen > labels[0]:
        last[0], labels[0] = previous, seen
