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
def four_dots(a: Array, b: Array, c: Array, d: Array, x: Array) -> tuple[float, float, float, float]:
    """`dot` of each of four rows with x in one pass, with the same bits; the four sums run in parallel.

    Shapes: a, b, c, d f8[n], x f8[n].
    """
    of_a = of_b = of_c = of_d = 0.0
    for j in range(x.shape[0]):
        of_a += a[j] * x[j]
        of_b += b[j] * x[j]
        of_c += c[j] * x[j]
        of_d += d[j] * x[j]
    return of_a, of_b, of_c, of_d


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
def add_multiples(total: Array, rows: Array, x: Array) -> None:
    """`axpy` to `total` of each row by its number in x, in order, with the same bits; four rows in each pass.

    Zeros add nothing, since rows are finite. Shapes: total f8[m or more], rows f8[n, m], x f8[n or more].
    """
    n, m = rows.shape
    for j in range(0, n - 3, 4):
        row_0, row_1, row_2, row_3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        x_0, x_1, x_2, x_3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        if x_0 != 0.0 or x_1 != 0.0 or x_2 != 0.0 or x_3 != 0.0:
            for i in range(m):
                total[i] = total[i] + row_0[i] * x_0 + row_1[i] * x_1 + row_2[i] * x_2 + row_3[i] * x_3
    for j in range(n - n % 4, n):
        if x[j] != 0.0:
            axpy(total, rows[j], x[j])


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
