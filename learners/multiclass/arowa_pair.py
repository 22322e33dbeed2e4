"""Adaptive regularisation of weight matrices (AROWA), for pairs of items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.multiclass.weight_matrix import matrix_fields, start_matrix, step_by_factors
from learners.parameters import ParameterError, Parameters, choice, flag, integer, number
from learners.second_order.covariance import COLLAPSED, VARIANCE_FLOOR, inflate_diagonal, inflate_full
from learners.state import Fields
from learners.vectors import dot


class AROWAPair(Learner):
    """Adaptive regularisation of a weight matrix that says whether the two items of a row belong together.

    The first d1 columns of a row describe item p, the others item z; class 1 means that they match. The score is
    p'W z, so it can weigh every feature of one against every feature of the other. `arowa` is the same matrix for
    several classes.

    With m = y p'W z, a row with m < 1 gives

    - diagonal: v = sum_ij V_ij p_i^2 z_j^2, W += (1 - m) / (v + r) y V o (p z'), V^-1 += (p z')^2 / r, o and ^2 by
      entry,
    - factored: v = vp vz with vp = p'R p and vz = z'F z, W += (1 - m) / (v + r) y (R p)(F z)',
      R^-1 += vz / (r d2) p p' and F^-1 += vp / (r d1) z z'.

    Parameters
    ----------
    r : float
        Regularisation, r > 0, unit of a squared feature squared. Larger = slower. Default 1.0.
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    form : str
        ``diag``: a variance per weight; ``factored``: a matrix for each of the two items. Default ``diag``.
    d1 : int
        Columns of the first item, d1 >= 0; 0 = half of them, the larger one of odd halves. Default 0.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to that of the start. 1e-4 on streams that drift; 0, the
        published algorithm, freezes. Default 0.0.
    intercept : bool
        Append a constant 1 to both items, so that each also counts for itself. Default true.

    State
    -----
    weight : f8[d1, d2]         mean W of the weights, d1 and d2 with the intercepts
    variance : f8[d1, d2]       V, of every weight; f8[0, 0] in the factored form
    of_rows : f8[d1, d1]        R, factor of item p, bitwise symmetric, starts at a I; f8[0, 0] in the diagonal form
    of_columns : f8[d2, d2]     F, factor of item z, bitwise symmetric, starts at I; f8[0, 0] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Diagonal: O(d1 d2) per row, 16 d1 d2 + 8 bytes. Factored: O((d1 + d2)^2) per row, 8 (d1^2 + d2^2 + d1 d2) + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, a task other than two classes, or an item without columns.

    Source
    ------
    Crammer and Chechik, ICML 2012. ALGORITHMS.md 4. Differs: the factors' step is derived anew, drift q of
    ALGORITHMS.md 1.12, intercepts.
    """

    name = "arowa_pair"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        r: float = number(1.0, above=0.0)
        a: float = number(1.0, above=0.0)
        form: str = choice("diag", ("diag", "factored"))
        d1: int = integer(0, at_least=0)
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    @property
    def first(self) -> int:
        """Columns of the first item, without the intercept."""
        return int(self.parameters.d1) or (self.n_features + 1) // 2

    def fields(self) -> Fields:
        d1, d2 = self.first + self._intercept, self.width - self.first
        if self.first > self.n_features or d2 < 1:
            raise ParameterError(f"d1 = {self.first} of {self.n_features} columns leave none for the second item")
        return matrix_fields(self.parameters.form, d1, d2)

    def initialise(self) -> None:
        start_matrix(self.state, self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        W, skipped = s["weight"], s["skipped"]
        d1, d2 = W.shape
        item = np.ones(d1)
        if p.form == "diag":
            pair_diagonal(rows, y, score, self.first, p.r, p.a, p.q, W, s["variance"], skipped, item)
        else:
            R, F, kp, kz = s["of_rows"], s["of_columns"], np.empty(d1), np.empty(d2)
            pair_factored(rows, y, score, self.first, p.r, p.a, p.q, W, R, F, skipped, item, kp, kz)


@fragment
def match(weight: Array, p: Array, z: Array) -> float:
    """The score p'W z. Shapes: weight f8[d1, d2], p f8[d1], z f8[d2]."""
    s = 0.0
    for i in range(p.shape[0]):
        s += p[i] * dot(weight[i], z)
    return s


@fragment
def step_by_entry(weight: Array, variance: Array, p: Array, z: Array, step: float) -> bool:
    """Add step * variance o (p z') to `weight`; nothing if a weight would overflow. Says which.

    Shapes: weight f8[d1, d2], variance f8[d1, d2], p f8[d1], z f8[d2].
    """
    overflows = False
    for i in range(p.shape[0]):
        for j in range(z.shape[0]):
            moved = weight[i, j] + step * (variance[i, j] * (p[i] * z[j]))
            overflows |= moved - moved != 0.0
    if overflows:
        return False
    for i in range(p.shape[0]):
        for j in range(z.shape[0]):
            weight[i, j] += step * (variance[i, j] * (p[i] * z[j]))
    return True


@bare_kernel
def pair_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    first: int,
    r: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    p: Array,
) -> None:
    """Predict, then condition each weight on the pair having margin 1 with noise r.

    Shapes: rows f8[n, first + d2], y f8[n], score f8[n, 1], weight f8[d1, d2], variance f8[d1, d2], skipped i8[1],
    scratch p f8[d1] of ones; d1 is `first`, or one more with the intercept. ALGORITHMS.md 4, `arowa`.
    """
    d1, d2 = weight.shape
    kappa = 1.0 / r
    for t in range(rows.shape[0]):
        for i in range(first):
            p[i] = rows[t, i]
        z = rows[t, first:]
        s = match(weight, p, z)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s >= 1.0):
            v = 0.0
            for i in range(d1):
                for j in range(d2):
                    u = p[i] * z[j]
                    v += variance[i, j] * u * u
            step = label * (1.0 - label * s) / (v + r)
            able = finite and COLLAPSED < v < math.inf and kappa < math.inf
            if able and step_by_entry(weight, variance, p, z, step):
                for i in range(d1):
                    for j in range(d2):
                        u = p[i] * z[j]
                        variance[i, j] = max(VARIANCE_FLOOR, 1.0 / (1.0 / variance[i, j] + kappa * u * u))
            else:
                skipped[0] += 1
        if q > 0.0:
            for i in range(d1):
                inflate_diagonal(variance[i], q, a)


@bare_kernel
def pair_factored(
    rows: Array,
    y: Array,
    score: Array,
    first: int,
    r: float,
    a: float,
    q: float,
    weight: Array,
    of_rows: Array,
    of_columns: Array,
    skipped: NDArray[np.int64],
    p: Array,
    kp: Array,
    kz: Array,
) -> None:
    """As `pair_diagonal`, keeping a covariance of each item's features.

    Shapes: rows f8[n, first + d2], y f8[n], score f8[n, 1], weight f8[d1, d2], of_rows f8[d1, d1],
    of_columns f8[d2, d2], skipped i8[1], scratch p f8[d1] of ones, kp f8[d1], kz f8[d2]. ALGORITHMS.md 4, `arowa`.
    """
    for t in range(rows.shape[0]):
        for i in range(first):
            p[i] = rows[t, i]
        z = rows[t, first:]
        s = match(weight, p, z)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s >= 1.0):
            gap = label * (1.0 - label * s)
            if not (finite and step_by_factors(weight, of_rows, of_columns, p, z, gap, r, kp, kz)):
                skipped[0] += 1
        if q > 0.0:
            inflate_full(of_rows, q, a)
            inflate_full(of_columns, q, 1.0)
