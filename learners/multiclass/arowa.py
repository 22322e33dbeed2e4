"""Adaptive regularisation of weight matrices (AROWA), for several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.multiclass.covariance import REGULARISED, separate_diagonal
from learners.multiclass.margins import best_wrong, score_classes, write_score
from learners.multiclass.weight_matrix import matrix_fields, start_matrix, step_by_factors
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.covariance import inflate_full
from learners.state import Fields


class AROWA(Learner):
    """Adaptive regularisation of a weight matrix: one Gaussian over all classes' weights.

    A covariance of K d weights is a huge matrix. The diagonal form keeps a variance per weight, which is `mc_arow` in
    its diagonal form; the factored form keeps how classes vary together and how features do. All classes share both
    factors, which every row narrows: weak without drift.

    With scores S = W x, s the best wrong class, p = e_y - e_s and m = S_y - S_s, a row with m < 1 gives

    - diagonal: v = sum_ij V_ij p_i^2 x_j^2, W += (1 - m) / (v + r) V o (p x'), V^-1 += (p x')^2 / r, o and ^2 by entry,
    - factored: v = vp vx with vp = p'R p and vx = x'F x, W += (1 - m) / (v + r) (R p)(F x)',
      R^-1 += vx / (r d) p p' and F^-1 += vp / (r K) x x'.

    Parameters
    ----------
    r : float
        Regularisation, r > 0, unit of a squared feature. Larger = slower. Default 1.0.
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    form : str
        ``diag``: a variance per weight; ``factored``: a matrix of the classes by one of the features. Default ``diag``.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to that of the start. 1e-4 on streams that drift; 0, the
        published algorithm, freezes. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[K, d]       mean W of the weights, d with the intercept
    variance : f8[K, d]     V, of every weight; f8[0, 0] in the factored form
    of_rows : f8[K, K]      R, factor of the classes, bitwise symmetric, starts at a I; f8[0, 0] in the diagonal form
    of_columns : f8[d, d]   F, factor of the features, bitwise symmetric, starts at I; f8[0, 0] in the diagonal form
    skipped : i8[1]         labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Diagonal: O(K d) per row, 16 K d + 8 bytes. Factored: O((K + d)^2) per row, 8 (K^2 + d^2 + K d) + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or regression.

    Source
    ------
    Crammer and Chechik, ICML 2012, with the top-1 updates of Crammer, Dredze and Kulesza, EMNLP 2009. ALGORITHMS.md 4
    and 8. Differs: the factors' step is derived anew, drift q of ALGORITHMS.md 1.12.
    """

    name = "arowa"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        r: float = number(1.0, above=0.0)
        a: float = number(1.0, above=0.0)
        form: str = choice("diag", ("diag", "factored"))
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return matrix_fields(self.parameters.form, self.n_classes, self.width)

    def initialise(self) -> None:
        start_matrix(self.state, self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        W, skipped = s["weight"], s["skipped"]
        K, d = W.shape
        if p.form == "diag":
            V, S, k = s["variance"], np.empty(K), np.empty((2, d))
            separate_diagonal(rows, y, score, REGULARISED, 0.0, 0.0, p.r, p.a, p.q, W, V, skipped, S, k[0], k[1])
        else:
            R, F, of_classes = s["of_rows"], s["of_columns"], np.zeros((3, K))
            S, pair, kp = of_classes
            arowa_factored(rows, y, score, p.r, p.a, p.q, W, R, F, skipped, S, pair, kp, np.empty(d))


@bare_kernel
def arowa_factored(
    rows: Array,
    y: Array,
    score: Array,
    r: float,
    a: float,
    q: float,
    weight: Array,
    of_rows: Array,
    of_columns: Array,
    skipped: NDArray[np.int64],
    S: Array,
    p: Array,
    kp: Array,
    kx: Array,
) -> None:
    """Predict, then condition the matrix on the row's class being a margin of 1 above the best wrong one.

    Shapes: rows f8[n, d], y f8[n], score f8[n, K or 1], weight f8[K, d], of_rows f8[K, K], of_columns f8[d, d],
    skipped i8[1], scratch S f8[K], p f8[K] of zeros, kp f8[K], kx f8[d]. ALGORITHMS.md 4, `arowa`, and 8.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        rival = best_wrong(S, label)
        m = S[label] - S[rival]
        if not (finite and m >= 1.0):
            p[label], p[rival] = 1.0, -1.0
            if not (finite and step_by_factors(weight, of_rows, of_columns, p, x, 1.0 - m, r, kp, kx)):
                skipped[0] += 1
            p[label], p[rival] = 0.0, 0.0
        if q > 0.0:
            inflate_full(of_rows, q, a)
            inflate_full(of_columns, q, 1.0)
