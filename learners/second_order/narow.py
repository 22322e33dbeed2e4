"""Narrow adaptive regularisation of weights (NAROW)."""

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


class NAROW(Learner):
    """Narrow AROW: the covariance shrinks only in directions where it is still wide, then stays.

    While a row's variance is above 1/b it learns as a second-order learner does; below, the covariance is fixed
    and it learns as a perceptron with margin in the space whitened so far. It therefore never freezes.

    With k = Sigma x, v = x.k, s = theta.k, a row with y s < 1 gives

    - r = v / (b v - 1) if v > 1/b, else infinity,
    - Sigma -= k k' / (v + r) (diagonal: Sigma^-1 += diag(x x') / r), nothing if r is infinite,
    - theta += y x.

    Parameters
    ----------
    b : float
        Inverse of the variance at which a direction is narrow enough, b > 0. Default 1.0.
    variant : str
        ``hybrid``, the paper's description, or ``arow``: common code, which has s = mu.x and the mean step of
        AROW, mu += (1 - y s) / (v + r) y k, and so learns nothing once r is infinite. Default ``hybrid``.
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to `a`; 0 is the published algorithm. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]              theta, signed sum of the rows learned; in variant ``arow`` the mean mu
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
    Orabona and Crammer, NIPS 2010. Differs: drift q and the diagonal form of ALGORITHMS.md 1.12 and 1.13.
    """

    name = "narow"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        b: float = number(1.0, above=0.0)
        variant: str = choice("hybrid", ("hybrid", "arow"))
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
        run = narow_full if s["covariance"].ndim == 2 else narow_diagonal
        run(rows, y, score, p.variant == "hybrid", p.b, p.a, p.q, s["weight"], s["covariance"], s["skipped"], k)


@bare_kernel
def narow_full(
    rows: Array,
    y: Array,
    score: Array,
    hybrid: bool,
    b: float,
    a: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then add the row, and narrow the covariance while the row's variance is above 1/b.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 4, `narow`; 1/r = b - 1/v, so that no r is infinite.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        v = times(covariance, x, k)
        s = dot(weight, k) if hybrid else dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s >= 1.0):
            sound = finite and COLLAPSED < v < math.inf
            kappa = max(0.0, b - 1.0 / v) if sound else 0.0
            share = kappa / (1.0 + kappa * v)  # 1 / (v + r)
            if hybrid:
                learned = sound and step_along(weight, x, label)
            else:
                learned = sound and step_along(weight, k, (1.0 - label * s) * share * label)
            if not learned:
                skipped[0] += 1
            elif kappa > 0.0:
                downdate(covariance, k, share, 1.0)
        if q > 0.0:
            inflate_full(covariance, q, a)


@bare_kernel
def narow_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    hybrid: bool,
    b: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `narow_full`, keeping the diagonal of the inverse covariance only.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], variance f8[d], skipped i8[1], k f8[d] scratch.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        for j in range(d):
            k[j] = variance[j] * x[j]
        s = dot(weight, k) if hybrid else dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s >= 1.0):
            v = dot(x, k)
            sound = finite and COLLAPSED < v < math.inf
            kappa = max(0.0, b - 1.0 / v) if sound else 0.0
            if hybrid:
                learned = sound and step_along(weight, x, label)
            else:
                learned = sound and step_along(weight, k, (1.0 - label * s) * (kappa / (1.0 + kappa * v)) * label)
            if not learned:
                skipped[0] += 1
            elif kappa > 0.0:
                narrow_diagonal(variance, x, kappa)
        if q > 0.0:
            inflate_diagonal(variance, q, a)
