"""Improved ellipsoid method for classification (IELLIP)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.forgetting.recursion import pin
from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.covariance import COLLAPSED, covariance_shape, fill
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along

MOST_WOUND_UP = 1e6
"""Times `a`: the variance beyond which a direction that no mistake excites inflates no further. For b < 1 the total
inflation is the product of 1 / (1 - c b^i), 1.16 at the defaults; at b = 1 it would overflow after 700 / c mistakes."""

LEAST_VARIANCE = 1e-12
"""Floor of the diagonal form."""


class IELLIP(Learner):
    """Improved ellipsoid method: the good weights lie in an ellipsoid, and every mistake cuts a piece off it.

    Learns from mistakes only; each cut is smaller than the last, so that noisy labels cannot squeeze the
    ellipsoid flat. What is not cut grows a little instead.

    With k = Sigma x, v = x.k, m = y w.x, a row with m <= 0 gives

    - alpha = (margin - m) / sqrt(v), g = y k / sqrt(v), w += alpha g,
    - full: Sigma <- (Sigma - ct g g') / (1 - ct), diagonal: Sigma_j <- (Sigma_j - ct k_j^2 / v) / (1 - ct),
    - ct <- b ct.

    Parameters
    ----------
    c : float
        Depth of the first cut, 0 < c < 1. Default 0.1.
    b : float
        What is left of the depth after each mistake, 0 < b <= 1. Default 0.3.
    margin : float
        Margin that a mistaken row gets, margin > 0. Default 1.0.
    a : float
        Variance of every weight at the start, a > 0; weights do not depend on it. Default 1.0.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]              centre w of the ellipsoid, d with the intercept
    covariance : f8[d, d]       its shape Sigma, bitwise symmetric; f8[d] in the diagonal form
    ct : f8[1]                  depth of the next cut, c b^(mistakes so far)
    skipped : i8[1]             mistakes without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per mistake, 8 d^2 + 8 d + 16 bytes. Diagonal: O(d) per row, 16 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Yang, Jin and Ye, ICML 2009. ct counts mistakes (library code counts rows, which freezes the ellipsoid at once).
    Differs: diagonal form of ALGORITHMS.md 4, and no variance beyond 1e6 a.
    """

    name = "iellip"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        c: float = number(0.1, above=0.0, below=1.0)
        b: float = number(0.3, above=0.0, at_most=1.0)
        margin: float = number(1.0, above=0.0)
        a: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        d = self.width
        shape = covariance_shape(self.parameters.cov, d)
        return {"weight": ("f8", (d,)), "covariance": ("f8", shape), "ct": ("f8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)
        self.state["ct"][0] = self.parameters.c

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, k = self.parameters, self.state, np.empty(self.width)
        most = MOST_WOUND_UP * p.a
        run = iellip_full if s["covariance"].ndim == 2 else iellip_diagonal
        run(rows, y, score, p.b, p.margin, most, s["weight"], s["covariance"], s["ct"], s["skipped"], k)


@bare_kernel
def iellip_full(
    rows: Array,
    y: Array,
    score: Array,
    b: float,
    margin: float,
    most: float,
    weight: Array,
    covariance: Array,
    ct: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then cut the half of the ellipsoid that got the row wrong.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], ct f8[1], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 4, `iellip`, with g put in: both roots of v meet and vanish.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if (finite and label * s > 0.0) or math.isnan(label):
            continue
        v = times(covariance, x, k)
        if not (COLLAPSED < v < math.inf and step_along(weight, k, (margin - label * s) / v * label)):
            skipped[0] += 1
            continue
        downdate(covariance, k, ct[0] / v, 1.0 / (1.0 - ct[0]))
        for j in range(weight.shape[0]):
            if covariance[j, j] > most:
                pin(covariance, j, most, k)
        ct[0] *= b


@bare_kernel
def iellip_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    b: float,
    margin: float,
    most: float,
    weight: Array,
    variance: Array,
    ct: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `iellip_full`, keeping the diagonal of the shape only.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], variance f8[d], ct f8[1], skipped i8[1],
    k f8[d] scratch. k_j^2 = variance_j x_j k_j, whose share of v cannot overflow.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if (finite and label * s > 0.0) or math.isnan(label):
            continue
        for j in range(d):
            k[j] = variance[j] * x[j]
        v = dot(x, k)
        if not (COLLAPSED < v < math.inf and step_along(weight, k, (margin - label * s) / v * label)):
            skipped[0] += 1
            continue
        for j in range(d):
            cut = variance[j] * (1.0 - ct[0] * (x[j] * k[j] / v)) / (1.0 - ct[0])
            variance[j] = min(most, max(LEAST_VARIANCE, cut))
        ct[0] *= b
