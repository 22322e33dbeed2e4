"""Class statistics of ranking learners: number of rows, mean, and scatter about the mean.

A row whose statistics would overflow is rejected entirely, so that counts, means and scatter are consistent.
"""

import math
from typing import Any

from driftway.learners.contract import Array, fragment

LARGEST_SCATTER = 1e300
"""Largest trace of a class's scatter. No entry exceeds the trace, so none overflows."""


@fragment
def centred_score(x: Array, _parameters: Any, memory: Any) -> float:
    """w.x - w.(c_0 + c_1) / 2: ranks as w.x does, and is 0 half way between the class means. Shapes: x f8[d]."""
    s = 0.0
    for j in range(x.shape[0]):
        s += memory.weight[j] * (x[j] - 0.5 * (memory.mean[0, j] + memory.mean[1, j]))
    return s


@fragment
def join_class(x: Array, own: int, memory: Any) -> bool:
    """Count `x` and update the mean of its class unless that would overflow; return whether it was counted.

    Shapes: x f8[d]; of memory classes i8[2], mean f8[2, d].
    """
    mean = memory.mean
    n = memory.classes[own] + 1.0
    overflows = False
    for j in range(x.shape[0]):
        moved = mean[own, j] + (x[j] - mean[own, j]) / n
        overflows |= moved - moved != 0.0
    if overflows:
        return False
    memory.classes[own] += 1
    for j in range(x.shape[0]):
        mean[own, j] += (x[j] - mean[own, j]) / n
    return True


@fragment
def join_scattered(x: Array, own: int, memory: Any) -> bool:
    """As `join_class`, and update the scatter about the mean (Welford).

    Shapes: x f8[d]; of memory classes i8[2], mean f8[2, d], scatter f8[2, d, d], e f8[d] scratch. Products of two
    scaled entries commute, so the scatter stays bitwise symmetric.
    """
    mean, scatter, deviation = memory.mean, memory.scatter, memory.e
    d = x.shape[0]
    n = memory.classes[own] + 1.0
    root = math.sqrt((n - 1.0) / n)
    trace = 0.0
    for j in range(d):
        deviation[j] = root * (x[j] - mean[own, j])
        trace += scatter[own, j, j] + deviation[j] * deviation[j]
    if not trace <= LARGEST_SCATTER:
        return False
    memory.classes[own] += 1
    for i in range(d):
        mean[own, i] += (x[i] - mean[own, i]) / n
        row, share = scatter[own, i], deviation[i]
        for j in range(d):
            row[j] += share * deviation[j]
    return True


@fragment
def join_varied(x: Array, own: int, memory: Any) -> bool:
    """As `join_scattered`, for the diagonal of the scatter only.

    Shapes: x f8[d]; of memory classes i8[2], mean f8[2, d], scatter f8[2, d], e f8[d] scratch.
    """
    mean, squares, deviation = memory.mean, memory.scatter, memory.e
    d = x.shape[0]
    n = memory.classes[own] + 1.0
    root = math.sqrt((n - 1.0) / n)
    trace = 0.0
    for j in range(d):
        deviation[j] = root * (x[j] - mean[own, j])
        trace += squares[own, j] + deviation[j] * deviation[j]
    if not trace <= LARGEST_SCATTER:
        return False
    memory.classes[own] += 1
    for j in range(d):
        mean[own, j] += (x[j] - mean[own, j]) / n
        squares[own, j] += deviation[j] * deviation[j]
    return True
