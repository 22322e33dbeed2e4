"""The passive-aggressive step, shared by `pa`, `pa1`, `pa2`: they differ in how far one row may pull."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array
from learners.vectors import dot, step_along


@bare_kernel
def passive_aggressive(
    rows: Array, y: Array, score: Array, cap: float, ridge: float, weight: Array, skipped: NDArray[np.int64]
) -> None:
    """Predict, then move towards the half-space in which the row has margin 1: all the way, or as far as is allowed.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], skipped i8[1]. ALGORITHMS.md 3. The step is
    tau = min(cap, loss / (x'x + ridge)): PA has (inf, 0), PA-I (C, 0), PA-II (inf, 1 / 2C).
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
        tau = min(cap, loss / (x2 + ridge))  # step 3
        if not step_along(weight, x, tau * label):  # step 4
            skipped[0] += 1


@bare_kernel
def passive_aggressive_regression(
    rows: Array,
    y: Array,
    score: Array,
    eps: float,
    cap: float,
    ridge: float,
    weight: Array,
    skipped: NDArray[np.int64],
) -> None:
    """As `passive_aggressive`, towards a score within eps of the target.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], skipped i8[1]. ALGORITHMS.md 3.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        loss = abs(y[t] - s) - eps
        if (finite and loss <= 0.0) or math.isnan(y[t]):
            continue
        x2 = dot(x, x)
        if not (finite and 0.0 < x2 < math.inf):
            skipped[0] += 1
            continue
        tau = min(cap, loss / (x2 + ridge))
        if not step_along(weight, x, math.copysign(tau, y[t] - s)):
            skipped[0] += 1
