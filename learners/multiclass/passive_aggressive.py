"""The passive-aggressive step of several classes, shared by `mc_pa`, `mc_pa1`, `mc_pa2`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array
from learners.multiclass.margins import best_wrong, score_classes, step_apart, write_score
from learners.vectors import dot


@bare_kernel
def passive_aggressive(
    rows: Array,
    y: Array,
    score: Array,
    cap: float,
    ridge: float,
    weight: Array,
    skipped: NDArray[np.int64],
    S: Array,
) -> None:
    """Predict, then part the right class from the best wrong one until the margin is 1, or as far as is allowed.

    Shapes: rows f8[n, d], y f8[n], score f8[n, k], weight f8[K, d], skipped i8[1], S f8[K] scratch. ALGORITHMS.md 8.
    The step is tau = min(cap, loss / (2 x'x + ridge)): PA has (inf, 0), PA-I (C, 0), PA-II (inf, 1 / 2C).
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        rival = best_wrong(S, label)
        loss = 1.0 - (S[label] - S[rival])
        if finite and loss <= 0.0:
            continue
        x2 = 2.0 * dot(x, x)  # what the margin gains by a step of 1
        if not (finite and 0.0 < x2 < math.inf):
            skipped[0] += 1
            continue
        tau = min(cap, loss / (x2 + ridge))
        if not step_apart(weight[label], x, weight[rival], x, tau):
            skipped[0] += 1
