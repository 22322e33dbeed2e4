"""What linear learners of several partitions tell each other of what they believe.

See docs/algorithms/averaging.md#averaging-between-partitions.

A model is weights w, or for least squares the information R = P^-1 and b = R w. Weights behind a standardiser are
meant for deviations from the mean, and stay so: each partition keeps a scaling of its own (docs/decisions/0036).
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
        """Whether all of it is."""
        return bool(np.isfinite(self.weight).all()) and (self.R is None or bool(np.isfinite(self.R).all()))

    def times(self, factor: float) -> "SharedModel":
        """Every number multiplied."""
        return SharedModel(factor * self.weight, None if self.R is None else factor * self.R)

    def plus(self, other: "SharedModel") -> "SharedModel":
        """Number by number; `other` is of the same kind."""
        R = None if self.R is None or other.R is None else self.R + other.R
        return SharedModel(self.weight + other.weight, R)


def to_information(w: Array, P: Array) -> SharedModel | None:
    """R = P^-1 and b = R w; None if P is not positive definite. Shapes: w f8[d], P f8[d, d]."""
    R = np.empty_like(P)
    if not inverse(P, np.empty_like(P), R):
        return None
    return SharedModel(_product(R, w), R)


def from_information(model: SharedModel, p_max: float) -> tuple[Array, Array] | None:
    """Weights and P of information, P at most `p_max` on its diagonal; None if R is not positive definite."""
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
    """factor^rows, by squaring: the C library's pow has other last bits on other machines."""
    made = 1.0
    while rows:
        if rows & 1:
            made *= factor
        factor *= factor
        rows >>= 1
    return made


def _product(A: Array, x: Array) -> Array:
    # No BLAS, whose bits change with the machine. Shapes: A f8[d, d] symmetric, x f8[d].
    total = np.zeros_like(x)
    for j in range(len(x)):
        total += A[j] * x[j]
    return total
