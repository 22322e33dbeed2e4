"""Adaptive regularisation of weights for regression."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.covariance import (
    COLLAPSED,
    fill,
    gaussian_fields,
    inflate_diagonal,
    inflate_full,
    narrow_diagonal,
)
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along


class AROWRegressor(Learner):
    """Adaptive regularisation of weights, with the target in place of the margin: every row teaches.

    Without drift and in the full form this is `rls` with delta = r/a. With drift it keeps following, and its
    diagonal form takes rows of thousands of columns.

    With k = Sigma x, v = x.k, s = mu.x, every row gives

    - mu += (y - s) / (v + r) k,
    - Sigma -= k k' / (v + r) (diagonal: Sigma^-1 += diag(x x') / r).

    Parameters
    ----------
    r : float
        Variance of the noise, r > 0. Larger = slower. Default 1.0.
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to `a`. 1e-4 on streams that drift; 0, the
        published algorithm, freezes. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]              mean mu of the weights, d with the intercept
    covariance : f8[d, d]       Sigma of the weights, bitwise symmetric; f8[d] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per labelled row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or more than two classes.

    Source
    ------
    ALGORITHMS.md 4, after Crammer, Kulesza and Dredze, NIPS 2009. Differs: drift q and the diagonal form of
    ALGORITHMS.md 1.12 and 1.13. Two classes are regressed on as -1 and 1, as by `rls`.
    """

    name = "arow_regressor"
    tasks = ("binary", "regression")

    @dataclass(frozen=True)
    class Params(Parameters):
        r: float = number(1.0, above=0.0)
        a: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return gaussian_fields(self.parameters.cov, self.width)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, k = self.parameters, self.state, np.empty(self.width)
        run = arow_regressor_full if s["covariance"].ndim == 2 else arow_regressor_diagonal
        binary = self.kind == "binary"
        run(rows, y, score, binary, p.r, p.a, p.q, s["weight"], s["covariance"], s["skipped"], k)


@bare_kernel
def arow_regressor_full(
    rows: Array,
    y: Array,
    score: Array,
    binary: bool,
    r: float,
    a: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then condition the Gaussian on the target, seen with noise r.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 4, `arow`, with (y - s) for (1 - m) y and without the test.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        target = 2.0 * y[t] - 1.0 if binary else y[t]
        v = times(covariance, x, k)
        beta = 1.0 / (v + r)
        if COLLAPSED < v < math.inf and step_along(weight, k, (target - s) * beta):
            downdate(covariance, k, beta, 1.0)
        else:
            skipped[0] += 1
        if q > 0.0:
            inflate_full(covariance, q, a)


@bare_kernel
def arow_regressor_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    binary: bool,
    r: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `arow_regressor_full`, keeping the diagonal of the inverse covariance only.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], variance f8[d], skipped i8[1], k f8[d] scratch.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        target = 2.0 * y[t] - 1.0 if binary else y[t]
        for j in range(d):
            k[j] = variance[j] * x[j]
        v = dot(x, k)
        if COLLAPSED < v < math.inf and step_along(weight, k, (target - s) / (v + r)):
            narrow_diagonal(variance, x, 1.0 / r)
        else:
            skipped[0] += 1
        if q > 0.0:
            inflate_diagonal(variance, q, a)
