"""The last rows with the Gaussian kernel between any two of them: k(x, z) = exp(-gamma |x - z|^2) + 1.

The 1 is the constant feature of the intercept, and is omitted without one. The kernel values of a row with the others
are computed once, when it is added.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, scratch
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.vectors import dot
from driftway.learners.windows.distances import squared_distances
from driftway.learners.windows.ring import rows_in, slot_of_next


class GaussianRing(NamedTuple):
    """The last R rows; row t (from 0) is in slot t mod R. By columns, so that several distances are computed at a time.

    Its block dominates the size of a state: 0.3 MB for 200 rows, 3 MB for 609, 36 MB for 2,109.
    """

    column: Array = field("f8[d, R]", "features of the rows")
    Y: Array = field("f8[R]", "their labels, -1 or 1")
    squared: Array = field("f8[R]", "k(x, x)")
    block: Array = field("f8[R, R]", "k of any two rows")
    taken: Counts = field("i8[1]", "rows taken in since the start")
    near: Array = scratch("f8[R]", "kernel values of a row with those of the ring")


@fragment
def weigh_near(x: Array, p: Any, ring: GaussianRing) -> int:
    """Write the kernel values of x with the ring's rows into `near`; return their number. Shapes: x f8[d]."""
    n = rows_in(ring)
    constant = 1.0 if p.intercept else 0.0
    squared_distances(x, ring.column, n, ring.near)
    for i in range(n):
        ring.near[i] = exp(-p.gamma * ring.near[i]) + constant
    return n


@fragment
def usable(x: Array) -> bool:
    """Whether a row can be trained on: its squared norm is finite. Shapes: x f8[d]."""
    return dot(x, x) < math.inf


@fragment
def append_row(x: Array, y: float, p: Any, ring: GaussianRing) -> None:
    """Add the row, in place of the oldest if the ring is full. Shapes: x f8[d]."""
    slot = slot_of_next(ring)
    for j in range(x.shape[0]):
        ring.column[j, slot] = x[j]
    ring.Y[slot] = y
    ring.taken[0] += 1
    n = weigh_near(x, p, ring)
    ring.squared[slot] = ring.near[slot]
    for i in range(n):
        ring.block[slot, i] = ring.near[i]
        ring.block[i, slot] = ring.near[i]
