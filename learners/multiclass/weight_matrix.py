"""A Gaussian over a weight matrix W of d1 x d2: a variance per weight, or a covariance of its rows and its columns.

In the factored form the covariance of W[i, j] and W[k, l] is of_rows[i, k] of_columns[j, l].
"""

from __future__ import annotations

import math

import numpy as np

from learners.jit import fragment
from learners.learner import Array
from learners.second_order.covariance import COLLAPSED
from learners.state import Fields, State
from learners.symmetric import downdate, times
from learners.vectors import step_along


def matrix_fields(form: str, d1: int, d2: int) -> Fields:
    """State of the Gaussian: its mean, its covariance in one form (the other one is empty), and a count."""
    diagonal = form == "diag"
    return {
        "weight": ("f8", (d1, d2)),
        "variance": ("f8", (d1, d2) if diagonal else (0, 0)),
        "of_rows": ("f8", (0, 0) if diagonal else (d1, d1)),
        "of_columns": ("f8", (0, 0) if diagonal else (d2, d2)),
        "skipped": ("i8", (1,)),
    }


def start_matrix(state: State, a: float) -> None:
    """Variance `a` for every weight; in the factored form the rows' factor holds it."""
    state["variance"][:] = a
    if state["of_rows"].size:
        np.fill_diagonal(state["of_rows"], a)
        np.fill_diagonal(state["of_columns"], 1.0)


@fragment
def step_by_factors(
    weight: Array, of_rows: Array, of_columns: Array, p: Array, z: Array, gap: float, r: float, kp: Array, kz: Array
) -> bool:
    """Condition the Gaussian on p'W z being `gap` larger, seen with noise r; False, and nothing, if it cannot be.

    Shapes: weight f8[d1, d2], of_rows f8[d1, d1], of_columns f8[d2, d2], p f8[d1], z f8[d2], scratch kp f8[d1],
    kz f8[d2]. ALGORITHMS.md 4, `arowa`, factored: each factor as if the other were fixed.
    """
    d1, d2 = weight.shape
    vp, vz = times(of_rows, p, kp), times(of_columns, z, kz)
    v = vp * vz
    # Rounding can leave both negative after features of 1e150: v alone would not tell.
    if not (vp > 0.0 and vz > 0.0 and COLLAPSED < v < math.inf):
        return False
    step = gap / (v + r)
    overflows = False
    for i in range(d1):
        step_i = step * kp[i]
        for j in range(d2):
            moved = weight[i, j] + step_i * kz[j]
            overflows |= moved - moved != 0.0
    if overflows:
        return False
    for i in range(d1):
        step_along(weight[i], kz, step * kp[i])
    downdate(of_rows, kp, 1.0 / (r * d2 / vz + vp), 1.0)
    downdate(of_columns, kz, 1.0 / (r * d1 / vp + vz), 1.0)
    return True
