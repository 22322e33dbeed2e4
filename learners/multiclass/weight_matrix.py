"""A Gaussian over a d1 x d2 weight matrix W: a variance per weight, or covariances of its rows and its columns.

In the factored form the covariance of W[i, j] and W[k, l] is of_rows[i, k] of_columns[j, l].
"""

import math
from typing import Any

import numpy as np

from driftway.learners.contract import Array, fragment
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import COLLAPSED, inflate_full


def matrix_sizes(form: str, d1: int, d2: int) -> Sizes:
    """Named sizes of the Gaussian's state; the covariance form that is not used is empty."""
    if form == "diag":
        return {"d1": d1, "d2": d2, "entries": (d1, d2), "rows": 0, "columns": 0}
    return {"d1": d1, "d2": d2, "entries": (0, 0), "rows": d1, "columns": d2}


def start_matrix(state: State, a: float) -> None:
    """Give every weight the variance `a`; in the factored form it is in the factor of the rows."""
    state["variance"][:] = a
    if state["of_rows"].size:
        np.fill_diagonal(state["of_rows"], a)
        np.fill_diagonal(state["of_columns"], 1.0)


@fragment
def step_by_factors(z: Array, gap: float, r: float, memory: Any) -> bool:
    """Condition the Gaussian on p'W z being `gap` larger with noise r; return False if that is impossible.

    Shapes: z f8[d2]; `memory` has weight f8[d1, d2], of_rows f8[d1, d1], of_columns f8[d2, d2], p f8[d1] and scratch
    kp f8[d1], kz f8[d2]. docs/algorithms/multiclass.md#arowa-arowa_pair, factored: each factor as if the other
    were fixed.
    """
    weight, kp, kz = memory.weight, memory.kp, memory.kz
    d1, d2 = weight.shape
    vp, vz = matvec(memory.of_rows, memory.p, kp), matvec(memory.of_columns, z, kz)
    v = vp * vz
    # After features of 1e150 rounding can make both negative, which v alone would not show.
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
        axpy_guarded(weight[i], kz, step * kp[i])
    downdate(memory.of_rows, kp, 1.0 / (r * d2 / vz + vp), 1.0)
    downdate(memory.of_columns, kz, 1.0 / (r * d1 / vp + vz), 1.0)
    return True


@fragment
def inflate_factors(q: float, a: float, memory: Any) -> None:
    """Apply drift q to both factors, which start at `a` and at 1. Shapes: as `step_by_factors`.

    See docs/algorithms/conventions.md#drift-of-the-covariance.
    """
    inflate_full(memory.of_rows, q, a)
    inflate_full(memory.of_columns, q, 1.0)
