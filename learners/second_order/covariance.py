"""Common part of covariance learners: state, full or diagonal form, initial value, and drift against collapse.

`driftway.learners.numeric.symmetric` keeps the matrix symmetric and well conditioned.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, Parameters, choice, field, fragment, intercept, number, scratch
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import dot

FULL_AT_MOST = 256
"""Largest width for which ``auto`` uses the full matrix: 0.5 MB, about 50 microseconds per row."""

VARIANCE_FLOOR = 1e-300
"""Smallest variance of the diagonal form; 0 would freeze a weight for ever and cause a division by zero."""

COLLAPSED = 1e-12
"""Variance of a row below which it teaches nothing: a zero row, or a direction that is already certain."""


class Gaussian(NamedTuple):
    """State of a learner that keeps a Gaussian over its weights."""

    weight: Array = field("f8[d]", "mean of the weights, d with the intercept")
    covariance: Array = field("f8[form]", "Sigma, [d, d] and bitwise symmetric; [d] in the diagonal form")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    k: Array = scratch("f8[d]", "Sigma x")


def covariance() -> Any:
    """The parameter for the form of the covariance."""
    return choice("auto", ("auto", "full", "diag"), "Full matrix, its diagonal, or `auto`: full up to 256 columns.")


def start_variance() -> Any:
    """The parameter for the initial variance."""
    return number(1.0, "Variance of every weight at the start.", above=0.0)


def drift() -> Any:
    """The parameter for the drift that keeps a covariance from collapsing."""
    text = "Drift: variance regained per labelled row, up to the initial one. 1e-4 on streams that drift; 0 freezes."
    return number(0.0, text, at_least=0.0)


class CovarianceParameters(Parameters):
    """Parameters shared by the family."""

    a: float = start_variance()
    cov: str = covariance()
    q: float = drift()
    intercept: bool = intercept()


def is_full(cov: str, width: int) -> bool:
    """Whether the covariance is d x d, not just its diagonal: by ``full`` or ``diag``, else by width."""
    return cov == "full" or (cov == "auto" and width <= FULL_AT_MOST)


def form_of(cov: str, width: int) -> Sizes:
    """The size named ``form``: (d, d) for the full form, d for the diagonal one."""
    return {"form": (width, width) if is_full(cov, width) else (width,)}


def fill(covariance: Array, start: float) -> None:
    """Set the initial covariance, `start` times the identity. Shapes: covariance f8[d, d] or f8[d]."""
    if covariance.ndim == 2:
        np.fill_diagonal(covariance, start)
    else:
        covariance[:] = start


@fragment
def inflate_full(covariance: Array, q: float, start: float) -> None:
    """Drift q: let each variance grow by at most q, but not beyond its initial value.

    See docs/algorithms/conventions.md#drift-of-the-covariance.

    Shapes: covariance f8[d, d]. Without it the covariance collapses and the learner freezes: 69.5 %
    instead of 96.1 % on 2CDT.
    """
    for j in range(covariance.shape[0]):
        covariance[j, j] += min(q, max(0.0, start - covariance[j, j]))


@fragment
def inflate_diagonal(variance: Array, q: float, start: float) -> None:
    """As `inflate_full`, for the diagonal form. Shapes: variance f8[d]."""
    for j in range(variance.shape[0]):
        variance[j] += min(q, max(0.0, start - variance[j]))


@fragment
def narrow_diagonal(variance: Array, x: Array, kappa: float) -> None:
    """Add kappa x x' to the inverse covariance, keeping only its diagonal.

    See docs/algorithms/conventions.md#full-and-diagonal-covariance.

    Shapes: variance f8[d], x f8[d]; kappa >= 0. If a square overflows, the variance is the floor, not 0.
    """
    for j in range(variance.shape[0]):
        variance[j] = max(VARIANCE_FLOOR, 1.0 / (1.0 / variance[j] + kappa * x[j] * x[j]))


@fragment
def spread_diagonal(variance: Array, x: Array, k: Array) -> float:
    """As `matvec`, for the diagonal: write k = Sigma x and return x . k. Shapes: variance f8[d], x f8[d], k f8[d]."""
    for j in range(x.shape[0]):
        k[j] = variance[j] * x[j]
    return dot(x, k)


@fragment
def shrink_full(covariance: Array, _x: Array, k: Array, beta: float, _kappa: float) -> None:
    """Subtract beta k k' from Sigma, with k = Sigma x. Shapes: covariance f8[d, d], x f8[d], k f8[d] overwritten."""
    downdate(covariance, k, beta, 1.0)


@fragment
def shrink_diagonal(variance: Array, x: Array, _k: Array, _beta: float, kappa: float) -> None:
    """Add kappa x x' to the inverse, keeping only its diagonal. Shapes: variance f8[d], x f8[d], k f8[d]."""
    narrow_diagonal(variance, x, kappa)


class CovarianceForm(NamedTuple):
    """Operations on the full or diagonal covariance, for rules that are written once for both."""

    spread: Callable[[Array, Array, Array], float]
    shrink: Callable[[Array, Array, Array, float, float], None]
    inflate: Callable[[Array, float, float], None]


FULL = CovarianceForm(matvec, shrink_full, inflate_full)
DIAGONAL = CovarianceForm(spread_diagonal, shrink_diagonal, inflate_diagonal)
