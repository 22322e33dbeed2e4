"""The two vector operations that every linear kernel is made of: a product and a guarded step."""

from __future__ import annotations

from learners.jit import kernel
from learners.learner import Array


@kernel
def dot(a: Array, b: Array) -> float:
    """Sum of a[j] * b[j] from j = 0 upwards, never regrouped: the order decides the last bits.

    Shapes: a f8[d], b f8[d].
    """
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel
def step_along(weight: Array, x: Array, step: float) -> bool:
    """Add step * x to `weight`, all of it or, if some coordinate would overflow, nothing; say which.

    Shapes: weight f8[d], x f8[d].
    """
    probe = 0.0
    for j in range(x.shape[0]):
        probe += (weight[j] + step * x[j]) * 0.0  # inf * 0 and nan * 0 are nan, any finite value's is 0
    if probe != 0.0:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * x[j]
    return True
