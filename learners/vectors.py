"""The two vector operations that every linear kernel is made of: a product and a guarded step."""

from __future__ import annotations

from learners.jit import fragment
from learners.learner import Array


@fragment
def dot(a: Array, b: Array) -> float:
    """Sum of a[j] * b[j] from j = 0 upwards, never regrouped: the order decides the last bits.

    Shapes: a f8[d], b f8[d].
    """
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@fragment
def step_along(weight: Array, x: Array, step: float) -> bool:
    """Add step * x to `weight`, all of it or, if some coordinate would overflow, nothing; say which.

    Shapes: weight f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        moved = weight[j] + step * x[j]
        # inf - inf and nan - nan are nan. Flags join in any order, hence several at a time; a sum could not.
        overflows |= moved - moved != 0.0
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * x[j]
    return True
