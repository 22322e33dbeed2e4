"""Linear experts that know how sure they are of each direction: logistic regression by a Kalman filter.

Weights wander a little from row to row, so that old rows fade; one expert expects hardly any, the other much drift.
"""

import math
from typing import NamedTuple

from driftway.learners.auto.first_order import sigmoid
from driftway.learners.contract import Array, field, kernel_without_refcounts, scratch
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import axpy, dot

NAMES = "filter_calm", "filter_restless"
EXPERTS = len(NAMES)
FIRST = 1.0
"""Variance of a weight at the start."""
PROBIT = math.pi / 8.0
"""A Gaussian margin of variance v is as likely right as one that is sqrt(1 + PROBIT v) times nearer to 0 (MacKay)."""


class Noise(NamedTuple):
    """What a filter takes for granted."""

    drift: float
    """Variance that a weight gains by each row,"""
    most: float
    """unless it has as much."""
    flattest: float
    """Least curvature of the logistic loss that is counted with."""


CALM, RESTLESS = Noise(1e-5, 10.0, 0.02), Noise(1e-3, 10.0, 0.02)


class Filters(NamedTuple):
    """Memory of the two filters; C = K, or with two classes C = 1 for the difference."""

    weight: Array = field("f8[2, C, s]", "means of the weights")
    P: Array = field("f8[2, s, s]", "covariance of the weights of two classes' difference; bitwise symmetric")
    k: Array = scratch("f8[s]", "P x")


@kernel_without_refcounts
def margins(filters: Filters, x: Array, raw: Array, first: int) -> int:
    """Write both experts' scores of each class. Shapes: x f8[s], raw f8[E, K] from row `first` on."""
    C, K = filters.weight.shape[1], raw.shape[1]
    for m in range(EXPERTS):
        raw[first + m, 0] = 0.0
        for c in range(C):
            raw[first + m, K - C + c] = dot(filters.weight[m, c], x)
    return first + EXPERTS


@kernel_without_refcounts
def update(filters: Filters, x: Array, raw: Array, first: int, y: int) -> None:
    """Let both experts see that y is ahead of its rival. Shapes: x f8[s], raw f8[E, K]."""
    C, k = filters.weight.shape[1], filters.k
    for m in range(EXPERTS):
        r = best_wrong(raw[first + m], y)
        share, gain = observe(filters.P[m], x, k, raw[first + m, y] - raw[first + m, r], CALM if m == 0 else RESTLESS)
        if C == 1:
            axpy(filters.weight[m, 0], k, gain if y == 1 else -gain)
        else:
            axpy(filters.weight[m, y], k, 0.5 * gain)
            axpy(filters.weight[m, r], k, -0.5 * gain)
        downdate(filters.P[m], k, share, 1.0)


@kernel_without_refcounts
def observe(P: Array, x: Array, k: Array, lead: float, noise: Noise) -> tuple[float, float]:
    """Add the drift, write k = P x; 1 / (1 / h + x.k), and the step along k that a lead of margin `lead` is worth.

    Shapes: P f8[s, s], x f8[s], k f8[s]. h is the curvature of the logistic loss where the margin is.
    """
    for i in range(x.shape[0]):
        if P[i, i] < noise.most:
            P[i, i] += noise.drift
    variance = max(matvec(P, x, k), 0.0)
    p = sigmoid(lead / math.sqrt(1.0 + PROBIT * variance))
    h = max(p * (1.0 - p), noise.flattest)
    share = 1.0 / (1.0 / h + variance)
    return share, (1.0 - p) / h * share
