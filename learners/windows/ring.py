"""A ring of the last rows, without a kernel."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment
from driftway.learners.numeric.vectors import dot


class Ring(NamedTuple):
    """The last R rows; row t (from 0) is in slot t mod R."""

    X: Array = field("f8[R, d]", "rows, d with the intercept")
    Y: Array = field("f8[R]", "their labels, -1 or 1")
    squared: Array = field("f8[R]", "their squared lengths")
    taken: Counts = field("i8[1]", "rows taken in since the start")


@fragment
def slot_of_next(ring: Any) -> int:
    """Return the slot of the next row, that of the oldest once the ring is full."""
    return int(ring.taken[0] % ring.Y.shape[0])


@fragment
def rows_in(ring: Any) -> int:
    """Return the number of rows in the ring."""
    return int(min(ring.taken[0], ring.Y.shape[0]))


@fragment
def usable(x: Array) -> bool:
    """Whether a row can be trained on: its squared norm is finite and not 0. Shapes: x f8[d]."""
    return 0.0 < dot(x, x) < math.inf


@fragment
def append_row(x: Array, y: float, _p: Any, ring: Ring) -> None:
    """Add the row, in place of the oldest if the ring is full. Shapes: x f8[d]."""
    slot = slot_of_next(ring)
    for j in range(x.shape[0]):
        ring.X[slot, j] = x[j]
    ring.Y[slot] = y
    ring.squared[slot] = dot(x, x)
    ring.taken[0] += 1
