"""Normal herding (NHERD)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
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


class NHERD(Learner):
    """Normal herding: moves a whole cloud of weights by PA-II and keeps the Gaussian that fits it best.

    As `arow`, but the covariance shrinks as fast as the cloud is herded together, about twice as fast.

    With k = Sigma x, v = x.k, m = y mu.x, a row with m < 1 gives

    - mu += (1 - m) / (v + 1/C) y k,
    - full: Sigma -= (C^2 v + 2 C) / (1 + C v)^2 k k',
    - diagonal: Sigma^-1 += (2 C + C^2 v) diag(x x').

    Parameters
    ----------
    C : float
        Trust in one row, C > 0, as 1/r of `arow`. Larger = faster. Default 0.1.
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
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Crammer and Lee, NIPS 2010, full and "project" forms. Differs: drift q of ALGORITHMS.md 1.12.
    """

    name = "nherd"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        C: float = number(0.1, above=0.0)
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
        run = nherd_full if s["covariance"].ndim == 2 else nherd_diagonal
        run(rows, y, score, p.C, p.a, p.q, s["weight"], s["covariance"], s["skipped"], np.empty(self.width))


@fragment
def pull(v: float, C: float) -> float:
    """C / (1 + C v): of a row's missing margin, how much of k = Sigma x the mean moves by."""
    return C * (1.0 / (1.0 + C * v))


@fragment
def herded_shrinkage(v: float, C: float) -> float:
    """(C^2 v + 2 C) / (1 + C v)^2, the share of k k' by which the full form shrinks.

    1 / (1 + C v) is taken out of the fraction, whose square overflows for a row of 1e80.
    """
    left = 1.0 / (1.0 + C * v)
    return (C + C * left) * left


@fragment
def herded_gain(v: float, C: float) -> float:
    """Kappa = 2 C + C^2 v: the inverse of the diagonal form gains kappa x x'."""
    return 2.0 * C + C * (C * v)


@bare_kernel
def nherd_full(
    rows: Array,
    y: Array,
    score: Array,
    C: float,
    a: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then herd the cloud towards margin 1 on the row.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 4, `nherd`.
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
            alpha = (1.0 - label * s) * pull(v, C)
            share = herded_shrinkage(v, C)
            if COLLAPSED < v < math.inf and share > 0.0 and step_along(weight, k, alpha * label):
                downdate(covariance, k, share, 1.0)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_full(covariance, q, a)


@bare_kernel
def nherd_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    C: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `nherd_full`, keeping the diagonal of the inverse covariance only.

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
            alpha = (1.0 - label * s) / (v + 1.0 / C)
            kappa = herded_gain(v, C)
            if COLLAPSED < v < math.inf and kappa < math.inf and step_along(weight, k, alpha * label):
                narrow_diagonal(variance, x, kappa)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_diagonal(variance, q, a)
