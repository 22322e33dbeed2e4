"""Adaptive regularisation of weights (AROW)."""

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
    VARIANCE_FLOOR,
    fill,
    gaussian_fields,
    inflate_diagonal,
    inflate_full,
)
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along


class AROW(Learner):
    """Adaptive regularisation of weights: a Gaussian over weights that narrows with every row it learns.

    Updates whenever the margin is below 1, by an amount that grows with the variance of the row, so rarely
    seen features move fast and label noise moves little.

    Parameters
    ----------
    r : float
        Regularisation, r > 0, unit of a squared feature. Larger = slower. Default 1.0.
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
    weight : f8[d]              mean of the weights, d with the intercept
    covariance : f8[d, d]       of the weights, bitwise symmetric; f8[d] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Crammer, Kulesza and Dredze, NIPS 2009, figure 1. Differs: drift q and the diagonal form of
    ALGORITHMS.md 1.12 and 1.13.
    """

    name = "arow"
    tasks = ("binary",)

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
        p, s = self.parameters, self.state
        run = arow_full if s["covariance"].ndim == 2 else arow_diagonal
        run(rows, y, score, p.r, p.a, p.q, s["weight"], s["covariance"], s["skipped"], np.empty(self.width))


@bare_kernel
def arow_full(
    rows: Array,
    y: Array,
    score: Array,
    r: float,
    a: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then condition the Gaussian on the row having margin 1 with noise r.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 4: scalars, mean, covariance, with the k of before.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s >= 1.0):
            v = times(covariance, x, k)
            beta = 1.0 / (v + r)
            alpha = (1.0 - label * s) * beta
            if COLLAPSED < v < math.inf and step_along(weight, k, alpha * label):
                downdate(covariance, k, beta, 1.0)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_full(covariance, q, a)


@bare_kernel
def arow_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    r: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `arow_full`, keeping the diagonal of the inverse covariance only (ALGORITHMS.md 1.13, kappa = 1/r).

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], variance f8[d], skipped i8[1], k f8[d] scratch.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s >= 1.0):
            for j in range(d):
                k[j] = variance[j] * x[j]
            v = dot(x, k)
            alpha = (1.0 - label * s) / (v + r)
            if COLLAPSED < v < math.inf and step_along(weight, k, alpha * label):
                for j in range(d):
                    shrunk = 1.0 / (1.0 / variance[j] + x[j] * x[j] / r)
                    variance[j] = max(VARIANCE_FLOOR, shrunk)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_diagonal(variance, q, a)
