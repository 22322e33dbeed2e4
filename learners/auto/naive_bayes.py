"""Each class as independent decaying Gaussians: a quadratic decision boundary without matrices."""

from typing import NamedTuple

from driftway.learners.contract import Array, field, kernel
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.fading_mean import newest_share

NAMES = "bayes_long", "bayes_short"
EXPERTS = len(NAMES)
LONG, SHORT = 0.999, 0.98
"""Decay per row of the weight of earlier rows."""
NARROWEST = 1e-2
"""Minimum variance of a feature within a class; over all rows it has variance 1."""
FORGOTTEN = 1e-3
"""Minimum weight of a class."""
SMALL, LARGE = 1e-200, 1e200
"""A product of variances is replaced by its logarithm before it leaves the range of float64."""


class DiagonalGaussians(NamedTuple):
    """Memory of the two experts, each for K classes."""

    weight: Array = field("f8[2, K]", "rows of each class, old ones discounted", start=1.0)
    mean: Array = field("f8[2, K, n]", "means of the features")
    variance: Array = field("f8[2, K, n]", "variances of the features", start=1.0)
    precision: Array = field("f8[2, K, n]", "1 / variance", start=1.0)
    spread: Array = field("f8[2, K]", "sums of ln variance")


@kernel
def log_likelihoods(bells: DiagonalGaussians, x: Array, raw: Array, first: int) -> int:
    """Write both experts' log-likelihoods of each class. Shapes: x f8[n or more], raw f8[E, K]."""
    for m in range(EXPERTS):
        for c in range(raw.shape[1]):
            misfit, mean, precision = bells.spread[m, c], bells.mean[m, c], bells.precision[m, c]
            for j in range(mean.shape[0]):
                misfit += (x[j] - mean[j]) * (x[j] - mean[j]) * precision[j]
            raw[first + m, c] = log(bells.weight[m, c]) - 0.5 * misfit
    return first + EXPERTS


@kernel
def update(bells: DiagonalGaussians, x: Array, y: int) -> None:
    """Update both experts with a row of class y. Shapes: x f8[n or more]."""
    for m in range(EXPERTS):
        keep = LONG if m == 0 else SHORT
        for c in range(bells.weight.shape[1]):
            bells.weight[m, c] = max(bells.weight[m, c] * keep, FORGOTTEN)
        bells.weight[m, y] += 1.0
        share = min(newest_share(bells.weight[m, y], 1.0 - keep), 0.5)
        bells.spread[m, y] = update_one(bells.mean[m, y], bells.variance[m, y], bells.precision[m, y], x, share)


@kernel
def update_one(mean: Array, variance: Array, precision: Array, x: Array, share: float) -> float:
    """Move mean and variance towards the row by `share`; return sum of ln variance. Shapes: f8[n], x f8[n or more]."""
    total, product = 0.0, 1.0
    for j in range(mean.shape[0]):
        away = x[j] - mean[j]
        mean[j] += share * away
        variance[j] = max((1.0 - share) * (variance[j] + share * away * away), NARROWEST)
        precision[j] = 1.0 / variance[j]
        product *= variance[j]
        if not SMALL < product < LARGE:
            total += log(product)
            product = 1.0
    return total + log(product)
