"""The recursion shared by RLS and its forgetting variants: discounted least squares, one row at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along


@bare_kernel
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
    k: Array,
) -> None:
    """Predict, then fold the row into the discounted least-squares solution; P stays bitwise symmetric.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], P f8[d, d], skipped i8[1],
    k f8[d] scratch. `forgetting` is lambda = 1 - mu; `p_max` = inf switches the wind-up guard off. ALGORITHMS.md 11
    (G-DFOP scaling: the printed denominator lacks mu). A row that would overflow leaves all as it was.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        target = 2.0 * y[t] - 1.0 if binary else y[t]
        v = times(P, x, k)
        if not absorb(weight, P, k, v, target - s, forgetting, p_max):
            skipped[0] += 1


@fragment
def absorb(weight: Array, P: Array, k: Array, v: float, error: float, forgetting: float, p_max: float) -> bool:
    """Fold one row into the solution, all of it or, if a weight would overflow, nothing; say which. Overwrites `k`.

    Shapes: weight f8[d], P f8[d, d], k f8[d] = P x; v is x.k, `error` the target without the score.
    """
    h = forgetting + v  # 11, step 1
    if not (0.0 < h < math.inf and step_along(weight, k, error / h)):  # step 2
        return False
    downdate(P, k, 1.0 / h, 1.0 / forgetting)  # step 3
    for j in range(weight.shape[0]):  # step 4
        if P[j, j] > p_max:
            pin(P, j, p_max, k)
    return True


@bare_kernel
def pin(P: Array, j: int, p_max: float, column: Array) -> None:
    """Wind-up guard: bring P[j, j] down to `p_max` by observing that weight j is what it is.

    Shapes: P f8[d, d], column f8[d] scratch. Without it a direction that is no longer excited makes P
    overflow after about 700 / mu rows.
    """
    alone = True
    for i in range(P.shape[0]):
        column[i] = P[i, j]
        alone = alone and (i == j or column[i] == 0.0)
    c = 1.0 / p_max - 1.0 / P[j, j]
    share = c / (1.0 + c * P[j, j])
    if alone:
        # A feature that was never there. Wide rows have hundreds, which all wind up at once: O(d) instead of O(d^2).
        root = math.sqrt(share) * P[j, j]
        P[j, j] -= root * root
    else:
        downdate(P, column, share, 1.0)
