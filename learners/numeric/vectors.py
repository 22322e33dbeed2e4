"""Vector operations for linear kernels: dot products, overflow-guarded steps and a norm that does not overflow."""

import math

from driftway.learners.engine.jit import fragment
from driftway.learners.engine.state import Array


@fragment
def dot(a: Array, b: Array) -> float:
    """Sum a[j] * b[j] from j = 0 upwards, never regrouped, because the order determines the last bits.

    Shapes: a f8[d], b f8[d].
    """
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@fragment
def dots(a: Array, b: Array, x: Array) -> tuple[float, float]:
    """`dot` of a and of b with x in one pass, with the same bits; the two sums run in parallel.

    Shapes: a f8[d], b f8[d], x f8[d].
    """
    first, second = 0.0, 0.0
    for j in range(x.shape[0]):
        first += a[j] * x[j]
        second += b[j] * x[j]
    return first, second


@fragment
def axpy_guarded(weight: Array, x: Array, step: float) -> bool:
    """Add step * x to `weight`, or leave it unchanged and return False if any coordinate would overflow.

    Shapes: weight f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        moved = weight[j] + step * x[j]
        # inf - inf and nan - nan are nan. Flags combine in any order, so this vectorizes; a sum would not.
        overflows |= moved - moved != 0.0
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * x[j]
    return True


@fragment
def axpy(weight: Array, x: Array, step: float) -> None:
    """As `axpy_guarded`, with the same bits, for steps that cannot overflow. Shapes: weight f8[d], x f8[d]."""
    for j in range(x.shape[0]):
        weight[j] += step * x[j]


@fragment
def axpy_guarded_pair(first: Array, a: float, second: Array, b: float, x: Array) -> bool:
    """As `axpy_guarded`: add a * x to `first` and b * x to `second`, or leave both unchanged.

    Shapes: first f8[d], second f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        one, other = first[j] + a * x[j], second[j] + b * x[j]
        overflows |= one - one != 0.0
        overflows |= other - other != 0.0
    if overflows:
        return False
    for j in range(x.shape[0]):
        first[j] += a * x[j]
        second[j] += b * x[j]
    return True


@fragment
def scale_and_axpy(weight: Array, keep: float, x: Array, step: float) -> bool:
    """As `axpy_guarded`, for weight <- keep * weight + step * x.

    Shapes: weight f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        moved = keep * weight[j] + step * x[j]
        overflows |= moved - moved != 0.0
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] = keep * weight[j] + step * x[j]
    return True


@fragment
def euclidean_norm(weight: Array) -> float:
    """Euclidean norm, correct even if the squares would overflow or underflow. Shapes: weight f8[d]."""
    squared = dot(weight, weight)
    if not 1e-280 < squared < math.inf:
        largest = 0.0
        for j in range(weight.shape[0]):
            largest = max(largest, abs(weight[j]))
        squared = 0.0
        for j in range(weight.shape[0]):
            squared += (weight[j] / largest) ** 2 if largest > 0.0 else 0.0
        return largest * math.sqrt(squared)
    return math.sqrt(squared)


@fragment
def multiply(weight: Array, factor: float) -> None:
    """Multiply every coordinate by `factor`. Shapes: weight f8[d]."""
    for j in range(weight.shape[0]):
        weight[j] *= factor
