"""The most frequent class so far."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters
from learners.state import Fields


class MajorityClass(Learner):
    """Predicts the class that was most frequent so far; looks at no feature.

    A learner that does not beat it has learned nothing from the features.

    State
    -----
    counts : i8[K]      labelled rows of each class

    Cost
    ----
    O(K) per row; 8 K bytes.

    Raises
    ------
    ParameterError
        Any parameter (it has none), or a regression task.

    Source
    ------
    ALGORITHMS.md 2. Binary score n_1 - n_0, so a tie and the first row predict class 1; multiclass scores
    are the counts, so the lowest index wins ties.
    """

    name = "majority_class"
    tasks = ("binary", "multiclass")
    uses_features = False

    @dataclass(frozen=True)
    class Params(Parameters):
        pass

    def fields(self) -> Fields:
        return {"counts": ("i8", (self.n_classes,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        majority_class(y, score, self.state["counts"])


@bare_kernel
def majority_class(y: Array, score: Array, counts: NDArray[np.int64]) -> None:
    """Score by the counts of the rows before, then count the row.

    Shapes: y f8[n], score f8[n, 1] (binary) or f8[n, K], counts i8[K].
    """
    columns = score.shape[1]
    for t in range(y.shape[0]):
        if columns == 1:
            score[t, 0] = float(counts[1] - counts[0])
        else:
            for c in range(columns):
                score[t, c] = float(counts[c])
        if not math.isnan(y[t]):
            counts[int(y[t])] += 1
