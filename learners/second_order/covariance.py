"""What covariance learners share: full or diagonal form, its start, and drift that keeps the covariance alive.

The matrix itself is kept sound by `learners.symmetric`.
"""

from __future__ import annotations

import numpy as np

from learners.jit import fragment
from learners.learner import Array
from learners.state import Fields

FULL_AT_MOST = 256
"""Largest width for which ``auto`` takes the full matrix: 0.5 MB, about 50 microseconds a row."""

VARIANCE_FLOOR = 1e-300
"""Smallest variance of the diagonal form; 0 would freeze a weight for ever and divide by zero."""

COLLAPSED = 1e-12
"""Variance of a row below which it teaches nothing: a zero row, or a direction that is already certain."""


def is_full(cov: str, width: int) -> bool:
    """Whether the covariance is d x d rather than its diagonal: ``full``, ``diag`` or by size."""
    return cov == "full" or (cov == "auto" and width <= FULL_AT_MOST)


def covariance_shape(cov: str, width: int) -> tuple[int, ...]:
    """The state's view: (d, d) in the full form, (d,) in the diagonal one."""
    return (width, width) if is_full(cov, width) else (width,)


def gaussian_fields(cov: str, width: int) -> Fields:
    """State of a Gaussian over `width` weights: its mean, its covariance, and a count of rows not learned from."""
    return {"weight": ("f8", (width,)), "covariance": ("f8", covariance_shape(cov, width)), "skipped": ("i8", (1,))}


def fill(covariance: Array, start: float) -> None:
    """The covariance of the start: `start` times the identity. Shapes: covariance f8[d, d] or f8[d]."""
    if covariance.ndim == 2:
        np.fill_diagonal(covariance, start)
    else:
        covariance[:] = start


@fragment
def inflate_full(covariance: Array, q: float, start: float) -> None:
    """Drift q: let each variance grow by at most q, never beyond its start. ALGORITHMS.md 1.12.

    Shapes: covariance f8[d, d]. Without it the covariance collapses and the learner freezes: 69.5 %
    instead of 96.1 % on 2CDT.
    """
    for j in range(covariance.shape[0]):
        covariance[j, j] += min(q, max(0.0, start - covariance[j, j]))


@fragment
def inflate_diagonal(variance: Array, q: float, start: float) -> None:
    """As `inflate_full`, of the diagonal form. Shapes: variance f8[d]."""
    for j in range(variance.shape[0]):
        variance[j] += min(q, max(0.0, start - variance[j]))


@fragment
def narrow_diagonal(variance: Array, x: Array, kappa: float) -> None:
    """Keep the diagonal of the inverse covariance, which gains kappa x x'. ALGORITHMS.md 1.13.

    Shapes: variance f8[d], x f8[d]; kappa >= 0. A square that overflows leaves the floor, not 0.
    """
    for j in range(variance.shape[0]):
        variance[j] = max(VARIANCE_FLOOR, 1.0 / (1.0 / variance[j] + kappa * x[j] * x[j]))
