"""The kernels of the confidence-weighted family: CW in both forms, SCW-I and SCW-II.

All four hold a Gaussian N(mu, Sigma) over weights and ask that a row be classified correctly with probability eta,
which is a margin of at least phi times its deviation, phi = Phi^-1(eta). They differ in the scalar alpha only.
In these formulas m is the margin y mu.x, v the variance x'Sigma x of the row, k = Sigma x.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.second_order.covariance import COLLAPSED, inflate_diagonal, inflate_full, narrow_diagonal
from learners.state import State
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along

VARIANCE, DEVIATION, SOFT, SOFT_SQUARED = range(4)
"""Which alpha a kernel takes. An argument, because four kernels instead of one are compiled four times."""


def deviations(eta: float) -> float:
    """phi: by how many deviations the margin must exceed 0 to be right with probability `eta`."""
    return NormalDist().inv_cdf(eta)


@fragment
def required(rule: int, v: float, phi: float) -> float:
    """The margin that a row of variance v must have: phi v where the constraint is linearised, else phi sqrt(v)."""
    return phi * v if rule == VARIANCE else phi * math.sqrt(v)


@fragment
def step_size(rule: int, m: float, v: float, phi: float, C: float) -> float:
    """Alpha > 0 of a row whose margin m is too small; inf or nan where it overflows."""
    if rule == VARIANCE:
        return alpha_variance(m, v, phi)
    if rule == SOFT_SQUARED:
        return alpha_squared(m, v, phi, C)
    alpha = alpha_deviation(m, v, phi)
    return min(C, alpha) if rule == SOFT else alpha


@fragment
def alpha_variance(m: float, v: float, phi: float) -> float:
    """The larger root gamma of 2 phi v gamma^2 + (1 + 2 phi m) gamma + (m - phi v) / v = 0. `cw`.

    The radicand is written as a sum of squares: (1 + 2 phi m)^2 - 8 phi (m - phi v) rounds to below 0.
    """
    b = 1.0 + 2.0 * phi * m
    apart = 1.0 - 2.0 * phi * m
    root = math.sqrt(apart * apart + 8.0 * phi * phi * v)
    if b > 0.0:
        return 2.0 * (phi * v - m) / (v * (b + root))  # the same root without cancellation
    return (root - b) / (4.0 * phi * v)


@fragment
def alpha_deviation(m: float, v: float, phi: float) -> float:
    """Multiplier of y mu.x >= phi sqrt(x'Sigma x), exact. Crammer, Dredze and Pereira 2008."""
    phi2 = phi * phi
    psi, xi = 1.0 + phi2 / 2.0, 1.0 + phi2
    root = math.sqrt(m * m * phi2 * phi2 / 4.0 + v * phi2 * xi)
    if m > 0.0:
        # The same without cancellation, by psi^2 - phi^4 / 4 = xi.
        deviation = phi * math.sqrt(v)
        return (deviation - m) * (deviation + m) / (v * (m * psi + root))
    return (root - m * psi) / (v * xi)


@fragment
def alpha_squared(m: float, v: float, phi: float, C: float) -> float:
    """Alpha of SCW-II, whose slack is squared. Wang, Zhao and Hoi 2012, proposition 2."""
    phi2 = phi * phi
    n = v + 1.0 / (2.0 * C)
    p = m * (2.0 * n + phi2 * v)
    gamma = phi * math.sqrt(phi2 * m * m * v * v + 4.0 * n * v * (n + v * phi2))
    if m > 0.0:
        # The same without cancellation, by gamma^2 - p^2 = 4 n (n + v phi^2) (v phi^2 - m^2).
        deviation = phi * math.sqrt(v)
        return 2.0 * (deviation - m) * (deviation + m) / (gamma + p)
    return (gamma - p) / (2.0 * n * (n + v * phi2))


@fragment
def precision_gain(rule: int, alpha: float, v: float, phi: float) -> float:
    """kappa: the inverse covariance gains kappa x x'. 2 alpha phi in `cw`, elsewhere alpha phi / sqrt(u)."""
    if rule == VARIANCE:
        return 2.0 * alpha * phi
    h = alpha * v * phi
    root_u = 2.0 * v / (h + math.sqrt(h * h + 4.0 * v))  # u = x'Sigma x afterwards; (-h + sqrt) / 2 cancels
    return alpha * phi / root_u


@bare_kernel
def confidence_full(
    rows: Array,
    y: Array,
    score: Array,
    rule: int,
    phi: float,
    C: float,
    a: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then move the Gaussian no further than it takes to be confident of the row's label.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 4, steps 1 to 5; a row that would overflow changes nothing.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        m = label * s
        v = times(covariance, x, k)  # step 1
        if not (finite and COLLAPSED < v < math.inf):
            skipped[0] += 1
        elif m < required(rule, v, phi):  # step 2
            alpha = step_size(rule, m, v, phi, C)  # step 3
            kappa = precision_gain(rule, alpha, v, phi)
            beta = kappa / (1.0 + kappa * v)
            if beta < math.inf and step_along(weight, k, alpha * label):  # step 4
                downdate(covariance, k, beta, 1.0)  # step 5
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_full(covariance, q, a)


@bare_kernel
def confidence_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    rule: int,
    phi: float,
    C: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `confidence_full`, with its alpha, keeping the diagonal of the inverse covariance only.

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
        m = label * s
        for j in range(d):
            k[j] = variance[j] * x[j]
        v = dot(x, k)
        if not (finite and COLLAPSED < v < math.inf):
            skipped[0] += 1
        elif m < required(rule, v, phi):
            alpha = step_size(rule, m, v, phi, C)
            kappa = precision_gain(rule, alpha, v, phi)
            if kappa < math.inf and step_along(weight, k, alpha * label):
                narrow_diagonal(variance, x, kappa)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_diagonal(variance, q, a)


def learn_confidently(rule: int, C: float, p: Any, s: State, rows: Array, y: Array, score: Array) -> None:
    """Run the kernel of a learner's form, full or diagonal; its parameters p have a, eta and q. Shapes as there."""
    run = confidence_full if s["covariance"].ndim == 2 else confidence_diagonal
    phi, k = deviations(p.eta), np.empty(rows.shape[1])
    run(rows, y, score, rule, phi, C, p.a, p.q, s["weight"], s["covariance"], s["skipped"], k)
