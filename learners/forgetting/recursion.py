"""The recursion shared by RLS and its forgetting variants: discounted least squares, one row at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import kernel
from learners.learner import Array


@kernel
def recursive_least_squares(
    rows: Array,
    y: Array,
    score: Array,
    binary: bool,
    forgetting: float,
    p_max: float,
    weight: Array,
    P: Array,
    skipped: NDArray[np.int64],
) -> None:
    """Predict, then fold the row into the discounted least-squares solution; P stays bitwise symmetric.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], P f8[d, d], skipped i8[1].
    `forgetting` is lambda = 1 - mu. ALGORITHMS.md 11 (G-DFOP scaling), symmetry rule 1.11.
    """
    d = rows.shape[1]
    k = np.empty(d)
    for t in range(rows.shape[0]):
        x = rows[t]
        s = 0.0
        for j in range(d):
            s += weight[j] * x[j]
        if not math.isfinite(s):
            s = 0.0
            skipped[0] += 1
        score[t, 0] = s
        if math.isnan(y[t]):
            continue
        target = 2.0 * y[t] - 1.0 if binary else y[t]
        h = forgetting
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += P[i, j] * x[j]
            h += x[i] * k[i]
        step = (target - s) / h
        if not (math.isfinite(step) and h > 0.0):
            skipped[0] += 1
            continue
        for j in range(d):
            weight[j] += step * k[j]
        c, g = 1.0 / h, 1.0 / forgetting
        for i in range(d):
            for j in range(i, d):
                v = (P[i, j] - c * k[i] * k[j]) * g
                P[i, j] = v
                P[j, i] = v
        for j in range(d):
            if P[j, j] > p_max:
                _pin(P, j, p_max, k)


@kernel
def _pin(P: Array, j: int, p_max: float, column: Array) -> None:
    """Wind-up guard: bring P[j, j] down to `p_max` by observing that weight j is what it is.

    Without it a direction that is no longer excited makes P overflow after about 700/mu rows.
    """
    d = P.shape[0]
    c = 1.0 / p_max - 1.0 / P[j, j]
    for i in range(d):
        column[i] = P[i, j]
    f = c / (1.0 + c * column[j])
    for i in range(d):
        for m in range(i, d):
            v = P[i, m] - f * column[i] * column[m]
            P[i, m] = v
            P[m, i] = v
