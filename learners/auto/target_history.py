"""Where targets have been: their scale, that of their changes, and the last few, as inputs of experts."""

import math
from typing import NamedTuple

from learners.auto.bounds import FURTHEST, bounded
from learners.contract import Array, Counts, bare_kernel, field, fragment, scratch

LAGS = 5
"""The last targets that experts see: the last one, and the changes between them."""
LARGEST = 1e100
"""Larger targets count as this: sums of their squares stay finite."""
FAR = 10.0
"""Deviations of a target; what an expert says beyond counts as this."""


class TargetHistory(NamedTuple):
    """Scale and past of the targets."""

    mean: Array = field("f8[1]", "mean of the targets")
    squares: Array = field("f8[1]", "sum of their squared deviations from the mean")
    changes: Array = field("f8[1]", "sum of the squared changes from one to the next")
    rows: Counts = field("i8[1]", "labelled rows so far")
    last: Array = field("f8[5]", "the last targets, the newest first")
    u: Array = scratch("f8[u]", "the row in deviations, a constant 1, and the past of the targets")


@fragment
def deviation(squares: float, rows: int) -> float:
    """What a scale is made of; 1 where there is none."""
    return math.sqrt(squares / rows) if rows > 0 and squares > 0.0 else 1.0


@bare_kernel
def look_back(history: TargetHistory, z: Array) -> None:
    """Write u: z, then the last target in deviations from the mean, then the last changes. Shapes: z f8[w]."""
    u, last, w = history.u, history.last, z.shape[0]
    for j in range(w):
        u[j] = z[j]
    of_level, of_changes = scales(history)
    u[w] = bounded((last[0] - history.mean[0]) / of_level, FAR)
    for i in range(1, LAGS):
        u[w + i] = bounded((last[i - 1] - last[i]) / of_changes, FURTHEST)


@bare_kernel
def scales(history: TargetHistory) -> tuple[float, float]:
    """Deviation of the targets, and of their changes."""
    rows = history.rows[0]
    return deviation(history.squares[0], rows), deviation(history.changes[0], rows)


@bare_kernel
def move_on(history: TargetHistory, y: float) -> None:
    """Take in the next target, |y| <= LARGEST."""
    last = history.last
    if history.rows[0] == 0:
        for i in range(LAGS):
            last[i] = y
    history.rows[0] += 1
    history.changes[0] += (y - last[0]) * (y - last[0])
    away = y - history.mean[0]
    history.mean[0] += away / history.rows[0]
    history.squares[0] += away * (y - history.mean[0])
    for i in range(LAGS - 1, 0, -1):
        last[i] = last[i - 1]
    last[0] = y
