"""The last rows, without a kernel: each stands where the oldest stood."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment
from driftway.learners.numeric.vectors import dot


class Ring(NamedTuple):
    """The last R rows; number t from 0 stands at t mod R."""

    X: Array = field("f8[R, d]", "rows, d with the intercept")
    Y: Array = field("f8[R]", "their labels, -1 or 1")
    squared: Array = field("f8[R]", "their squared lengths")
    taken: Counts = field("i8[1]", "rows taken in since the start")


@fragment
def slot_of_next(ring: Any) -> int:
    """Where the next row will stand, in place of the oldest once the ring is full."""
    return int(ring.taken[0] % ring.Y.shape[0])


@fragment
def rows_in(ring: Any) -> int:
    """How many rows the ring holds."""
    return int(min(ring.taken[0], ring.Y.shape[0]))


@fragment
def usable(x: Array) -> bool:
    """Whether a row can be trained on: its squared length is neither infinite nor 0. Shapes: x f8[d]."""
    return 0.0 < dot(x, x) < math.inf


@fragment
def append_row(x: Array, y: float, _p: Any, ring: Ring) -> None:
    """Put the row where the oldest stands. Shapes: x f8[d]."""
    slot = slot_of_next(ring)
    for j in range(x.shape[0]):
        ring.X[slot, j] = x[j]
    ring.Y[slot] = y
    ring.squared[slot] = dot(x, x)
    ring.taken[0] += 1
