"""Linear experts with a covariance of their weights: logistic regression by an extended Kalman filter.

The weights are assumed to drift a little with each row, so that old rows fade: hardly at all in one expert, much in the
other.
"""

import math
from typing import NamedTuple

from driftway.learners.auto.first_order import sigmoid
from driftway.learners.auto.others import lead_over_others
from driftway.learners.contract import Array, field, kernel, scratch
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import axpy, dot

NAMES = "filter_calm", "filter_restless"
EXPERTS = len(NAMES)
FIRST = 1.0
"""Initial variance of a weight."""
PROBIT = math.pi / 8.0
"""A margin with variance v gives the probability of that margin divided by sqrt(1 + PROBIT v) (MacKay)."""


class Noise(NamedTuple):
    """Assumptions of a filter."""

    drift: float
    """Variance that each row adds to a weight."""
    most: float
    """Variance of a weight from which on drift adds none."""
    flattest: float
    """Lower bound of the logistic loss's curvature."""


CALM, RESTLESS = Noise(1e-5, 10.0, 0.02), Noise(1e-3, 10.0, 0.02)


class Filters(NamedTuple):
    """Memory of the two filters; C = K, or with two classes C = 1 for the difference."""

    weight: Array = field("f8[2, C, s]", "means of the weights")
    P: Array = field("f8[2, s, s]", "covariance of the weights of two classes' difference; bitwise symmetric")
    by_class: Array = scratch("f8[K]", "1 for the row's class, minus the others' shares in what it is ahead of")
    k: Array = scratch("f8[s]", "P x")


@kernel
def margins(filters: Filters, x: Array, raw: Array, first: int) -> int:
    """Write both experts' scores of each class. Shapes: x f8[s], raw f8[E, K] from row `first` on."""
    C, K = filters.weight.shape[1], raw.shape[1]
    for m in range(EXPERTS):
        raw[first + m, 0] = 0.0
        for c in range(C):
            raw[first + m, K - C + c] = dot(filters.weight[m, c], x)
    return first + EXPERTS


@kernel
def update(filters: Filters, x: Array, raw: Array, first: int, y: int) -> None:
    """Update both experts with the observation that y is ahead of all others. Shapes: x f8[s], raw f8[E, K]."""
    C, k, by_class = filters.weight.shape[1], filters.k, filters.by_class
    for m in range(EXPERTS):
        lead = lead_over_others(raw[first + m], y, by_class)
        share, gain = observe(filters.P[m], x, k, lead, CALM if m == 0 else RESTLESS, 1.0)
        if C == 1:
            axpy(filters.weight[m, 0], k, gain * by_class[1])
        else:
            for c in range(C):
                axpy(filters.weight[m, c], k, 0.5 * gain * by_class[c])
        downdate(filters.P[m], k, share, 1.0)


@kernel
def observe(P: Array, x: Array, k: Array, lead: float, noise: Noise, count: float) -> tuple[float, float]:
    """Add the drift and write k = P x; return 1 / (1 / h + x.k) and the step along k for a margin of `lead`.

    The label counts as `count` labels; h is so many times the curvature of the logistic loss at the margin.
    Shapes: P f8[s, s], x f8[s], k f8[s].
    """
    for i in range(x.shape[0]):
        if P[i, i] < noise.most:
            P[i, i] += count * noise.drift
    variance = max(matvec(P, x, k), 0.0)
    p = sigmoid(lead / math.sqrt(1.0 + PROBIT * variance))
    h = max(p * (1.0 - p), noise.flattest)
    share = 1.0 / (1.0 / (count * h) + variance)
    return share, (1.0 - p) / h * share
