"""The mean of the targets so far."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters
from learners.state import Fields


class RunningMean(Learner):
    """Predicts the mean of the targets so far; looks at no feature.

    A regressor whose squared error is not below its own has learned nothing from the features.

    State
    -----
    mean : f8[1]        mean of the targets
    labels : i8[1]      how many it is of
    skipped : i8[1]     targets so far from the mean that their difference overflows

    Cost
    ----
    O(1) per row; 24 bytes.

    Raises
    ------
    ParameterError
        Any parameter (it has none), or a task other than regression.

    Source
    ------
    ALGORITHMS.md 2. Predicts 0 before the first target.
    """

    name = "running_mean"
    tasks = ("regression",)
    uses_features = False

    @dataclass(frozen=True)
    class Params(Parameters):
        pass

    def fields(self) -> Fields:
        return {"mean": ("f8", (1,)), "labels": ("i8", (1,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        running_mean(y, score, s["mean"], s["labels"], s["skipped"])


@bare_kernel
def running_mean(y: Array, score: Array, mean: Array, labels: NDArray[np.int64], skipped: NDArray[np.int64]) -> None:
    """Score by the mean of the rows before, then take the target in.

    Shapes: y f8[n], score f8[n, 1], mean f8[1], labels i8[1], skipped i8[1].
    """
    for t in range(y.shape[0]):
        score[t, 0] = mean[0]
        if math.isnan(y[t]):
            continue
        moved = mean[0] + (y[t] - mean[0]) / (labels[0] + 1.0)
        if math.isfinite(moved):
            mean[0] = moved
            labels[0] += 1
        else:
            skipped[0] += 1
