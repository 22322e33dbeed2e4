"""One state out of those that learners on several partitions made of the same one (ALGORITHMS.md 15.1).

A rule names the fields that others may see, and how they become one: an average, or for least squares the sum of what
each has seen. Sums are taken in the order of the parts, which must be the same everywhere: it decides the last bits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from learners.state import Array
from learners.symmetric import inverse

Shared = Mapping[str, Array]
"""name -> f8, those of a rule's `shared` in its order."""


class Part(NamedTuple):
    """What one learner has made of the state that all had."""

    shared: Shared
    rows: int
    """Labelled rows that it has seen since then."""


Merge = Callable[[Shared, Sequence[Part]], dict[str, Array]]
"""``merge(common, parts)`` with at least one row among the parts; `common` is what all had."""


def average(_common: Shared, parts: Sequence[Part]) -> dict[str, Array]:
    """Every field as the mean of the parts', by their rows."""
    return {name: _mean([part.shared[name] for part in parts], parts) for name in parts[0].shared}


def add_information(common: Shared, parts: Sequence[Part]) -> dict[str, Array]:
    """Weights and their covariance as if one learner had seen all rows; needs a rule that forgets nothing.

    The first field is the weights w f8[d], the second the covariance P f8[d, d], symmetric. With R = P^-1 and b = R w,
    what a part has seen is R - R_0 and b - b_0. If rounding leaves no positive definite sum, R and b are averaged.
    """
    weight, P = common
    R_0, b_0 = _information(common)
    seen = [_information(part.shared) for part in parts]
    R, b = R_0.copy(), b_0.copy()
    for R_k, b_k in seen:
        R += R_k - R_0
        b += b_k - b_0
    covariance = np.empty_like(R)
    if not inverse(R, np.empty_like(R), covariance):
        R, b = _mean([R_k for R_k, _ in seen], parts), _mean([b_k for _, b_k in seen], parts)
        inverse(R, np.empty_like(R), covariance)
    return {weight: _product(covariance, b), P: covariance}


def _information(shared: Shared) -> tuple[Array, Array]:
    w, P = shared.values()
    R = np.empty_like(P)
    inverse(P, np.empty_like(P), R)
    return R, _product(R, w)


def _product(A: Array, x: Array) -> Array:
    # No BLAS, whose bits change with the machine.
    total = np.zeros_like(x)
    for j in range(len(x)):
        total += A[j] * x[j]
    return total


def _mean(arrays: Sequence[Array], parts: Sequence[Part]) -> Array:
    total = np.zeros_like(arrays[0])
    for array, part in zip(arrays, parts, strict=True):
        total += part.rows * array
    return total / sum(part.rows for part in parts)
