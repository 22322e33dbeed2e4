"""The model that linear learners exchange between partitions.

See docs/algorithms/averaging.md#averaging-between-partitions.

A model is weights w, or for least squares the information R = P^-1 and b = R w. With a standardiser, weights refer to
scaled features and are not converted: each partition keeps its own scaling (docs/decisions/0036).
"""

from typing import NamedTuple

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.numeric.symmetric import clamp_diagonal, inverse


class SharedModel(NamedTuple):
    """A learner's model."""

    weight: Array
    """w f8[d] or f8[K, d]; with information b = R w, f8[d]."""
    R: Array | None = None
    """Information f8[d, d], symmetric; None: there are weights only."""

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(np.isfinite(self.weight).all()) and (self.R is None or bool(np.isfinite(self.R).all()))

    def times(self, factor: float) -> "SharedModel":
        """Multiply every number."""
        return SharedModel(factor * self.weight, None if self.R is None else factor * self.R)

    def plus(self, other: "SharedModel") -> "SharedModel":
        """Add number by number; `other` is of the same kind."""
        R = None if self.R is None or other.R is None else self.R + other.R
        return SharedModel(self.weight + other.weight, R)


def to_information(w: Array, P: Array) -> SharedModel | None:
    """R = P^-1 and b = R w; None if P is not positive definite. Shapes: w f8[d], P f8[d, d]."""
    R = np.empty_like(P)
    if not inverse(P, np.empty_like(P), R):
        return None
    return SharedModel(_product(R, w), R)


def from_information(model: SharedModel, p_max: float) -> tuple[Array, Array] | None:
    """Weights and P, its diagonal at most `p_max`; None if R is not positive definite or a number is not finite."""
    R = model.R
    assert R is not None  # noqa: S101
    P = np.empty_like(R)
    if not (model.finite and inverse(R, np.empty_like(R), P)):
        return None
    w, column = _product(P, model.weight), np.empty(len(P))
    for j in range(len(P)):
        if P[j, j] > p_max:
            clamp_diagonal(P, j, p_max, column)
    return (w, P) if np.isfinite(w).all() and np.isfinite(P).all() else None


def decay_power(factor: float, rows: int) -> float:
    """factor^rows by repeated squaring, since the last bits of the C library's pow differ between machines."""
    power = 1.0
    while rows:
        if rows & 1:
            power *= factor
        factor *= factor
        rows >>= 1
    return power


def _product(A: Array, x: Array) -> Array:
    # No BLAS, whose last bits differ between machines. Shapes: A f8[d, d] symmetric, x f8[d].
    total = np.zeros_like(x)
    for j in range(len(x)):
        total += A[j] * x[j]
    return total
