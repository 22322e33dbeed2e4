"""Several recursive least squares experts with different forgetting factors: `dfop` with each of them."""

from driftway.learners.contract import Array, Counts, kernel
from driftway.learners.least_squares.recursion import LeastSquares, absorb
from driftway.learners.numeric.symmetric import matvec
from driftway.learners.numeric.vectors import dot

KEEP = 1.0, 0.999, 0.98
"""Forgetting factor of each expert."""
P_MAX = 1e4
"""Wind-up guard, as in `dfop`."""


@kernel
def forecast(weight: Array, x: Array, forecasts: Array, first: int) -> int:
    """Write forecasts from `first` on; return the index after. Shapes: weight f8[m, d], x f8[d], forecasts f8[E]."""
    for m in range(weight.shape[0]):
        forecasts[first + m] = dot(weight[m], x)
    return first + weight.shape[0]


@kernel
def fold(weight: Array, P: Array, x: Array, y: float, k: Array, skipped: Counts) -> None:
    """Update each expert with y; non-finite steps are skipped and counted.

    Shapes: weight f8[m, d] with m <= 3, P f8[m, d, d], x f8[d], k f8[d] scratch, skipped i8[1].
    """
    for m in range(weight.shape[0]):
        expert = LeastSquares(weight[m], P[m], skipped, k)
        if not absorb(matvec(P[m], x, k), y - dot(weight[m], x), 1.0, KEEP[m], P_MAX, expert):
            skipped[0] += 1
