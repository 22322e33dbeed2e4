"""The kernels of multiclass learners that keep a covariance per class: those of `learners.second_order`, top-1.

Class r has a Gaussian N(mu_r, Sigma_r) over its weights. A row concerns its class y and the best wrong one, s. With
the margin m = (mu_y - mu_s).x and the variance v = x'Sigma_y x + x'Sigma_s x the scalars are those of two classes;
both means move, apart, and both covariances shrink by them. Covariances between classes are not kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.multiclass.margins import best_wrong, score_classes, step_apart, write_score
from learners.second_order.confidence import precision_gain, required, step_size
from learners.second_order.covariance import (
    COLLAPSED,
    covariance_shape,
    fill,
    inflate_diagonal,
    inflate_full,
    narrow_diagonal,
)
from learners.second_order.nherd import herded_gain, herded_shrinkage, pull
from learners.state import Fields, State
from learners.symmetric import downdate, times
from learners.vectors import dot

REGULARISED, HERDED = 4, 5
"""Which scalars a kernel takes, beside those of `confidence`: those of `arow` and of `nherd`, whose margin is 1."""


def class_fields(n_classes: int, cov: str, width: int) -> Fields:
    """State of a Gaussian per class over its `width` weights, and a count of rows not learned from."""
    return {
        "weight": ("f8", (n_classes, width)),
        "covariance": ("f8", (n_classes, *covariance_shape(cov, width))),
        "skipped": ("i8", (1,)),
    }


def fill_classes(covariance: Array, start: float) -> None:
    """The covariances of the start: `start` times the identity. Shapes: covariance f8[K, d, d] or f8[K, d]."""
    for of_class in covariance:
        fill(of_class, start)


@fragment
def missing(rule: int, m: float, v: float, phi: float) -> bool:
    """Whether the margin m is smaller than a row of variance v must have: 1, or as `confidence` requires it."""
    return m < (1.0 if rule >= REGULARISED else required(rule, v, phi))


@fragment
def step_length(rule: int, m: float, v: float, phi: float, C: float, r: float) -> float:
    """Alpha > 0 of a row whose margin m is too small; inf or nan where it overflows."""
    if rule == REGULARISED:
        return (1.0 - m) / (v + r)
    if rule == HERDED:
        return (1.0 - m) * pull(v, C)
    return step_size(rule, m, v, phi, C)


@fragment
def shrinkage(rule: int, alpha: float, v: float, phi: float, C: float, r: float) -> float:
    """Beta of the full form: Sigma loses beta k k', with k = Sigma x. kappa / (1 + kappa v) for kappa of `gain`."""
    if rule == REGULARISED:
        return 1.0 / (v + r)
    if rule == HERDED:
        return herded_shrinkage(v, C)
    kappa = precision_gain(rule, alpha, v, phi)
    return kappa / (1.0 + kappa * v)


@fragment
def gain(rule: int, alpha: float, v: float, phi: float, C: float, r: float) -> float:
    """Kappa of the diagonal form: the inverse covariance gains kappa x x', of which the diagonal is kept."""
    if rule == REGULARISED:
        return 1.0 / r
    if rule == HERDED:
        return herded_gain(v, C)
    return precision_gain(rule, alpha, v, phi)


@bare_kernel
def separate_full(
    rows: Array,
    y: Array,
    score: Array,
    rule: int,
    phi: float,
    C: float,
    r: float,
    a: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    S: Array,
    k_y: Array,
    k_s: Array,
) -> None:
    """Predict, then move the Gaussians of the row's class and of the best wrong one apart.

    Shapes: rows f8[n, d], y f8[n], score f8[n, K or 1], weight f8[K, d], covariance f8[K, d, d], skipped i8[1],
    scratch S f8[K], k_y f8[d], k_s f8[d]. ALGORITHMS.md 8; a row that would overflow changes nothing.
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
        if not (finite and rule >= REGULARISED and m >= 1.0):  # those need no variance to pass
            v = times(covariance[label], x, k_y) + times(covariance[rival], x, k_s)
            if not (finite and COLLAPSED < v < math.inf):
                skipped[0] += 1
            elif missing(rule, m, v, phi):
                alpha = step_length(rule, m, v, phi, C, r)
                beta = shrinkage(rule, alpha, v, phi, C, r)
                if beta < math.inf and step_apart(weight[label], k_y, weight[rival], k_s, alpha):
                    downdate(covariance[label], k_y, beta, 1.0)
                    downdate(covariance[rival], k_s, beta, 1.0)
                else:
                    skipped[0] += 1
        if q > 0.0:
            for c in range(S.shape[0]):
                inflate_full(covariance[c], q, a)


@bare_kernel
def separate_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    rule: int,
    phi: float,
    C: float,
    r: float,
    a: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    S: Array,
    k_y: Array,
    k_s: Array,
) -> None:
    """As `separate_full`, with its alpha, keeping the diagonals of the inverse covariances only.

    Shapes: rows f8[n, d], y f8[n], score f8[n, K or 1], weight f8[K, d], variance f8[K, d], skipped i8[1],
    scratch S f8[K], k_y f8[d], k_s f8[d].
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        rival = best_wrong(S, label)
        m = S[label] - S[rival]
        if not (finite and rule >= REGULARISED and m >= 1.0):
            for j in range(d):
                k_y[j] = variance[label, j] * x[j]
                k_s[j] = variance[rival, j] * x[j]
            v = dot(x, k_y) + dot(x, k_s)
            if not (finite and COLLAPSED < v < math.inf):
                skipped[0] += 1
            elif missing(rule, m, v, phi):
                alpha = step_length(rule, m, v, phi, C, r)
                kappa = gain(rule, alpha, v, phi, C, r)
                if kappa < math.inf and step_apart(weight[label], k_y, weight[rival], k_s, alpha):
                    narrow_diagonal(variance[label], x, kappa)
                    narrow_diagonal(variance[rival], x, kappa)
                else:
                    skipped[0] += 1
        if q > 0.0:
            for c in range(S.shape[0]):
                inflate_diagonal(variance[c], q, a)


def separate(
    rule: int,
    p: Any,
    s: State,
    rows: Array,
    y: Array,
    score: Array,
    phi: float = 0.0,
    C: float = 0.0,
    r: float = 0.0,
) -> None:
    """Run the kernel of a learner's form, full or diagonal; its parameters p have a and q. Shapes as there."""
    weight, covariance = s["weight"], s["covariance"]
    S, k = np.empty(weight.shape[0]), np.empty((2, rows.shape[1]))
    run = separate_full if covariance.ndim == 3 else separate_diagonal
    run(rows, y, score, rule, phi, C, r, p.a, p.q, weight, covariance, s["skipped"], S, k[0], k[1])
