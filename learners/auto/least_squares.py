"""Recursive least squares side by side, each with a memory of its own length: `dfop` at several factors."""

from driftway.learners.contract import Array, Counts, kernel_without_refcounts
from driftway.learners.least_squares.recursion import LeastSquares, absorb
from driftway.learners.numeric.symmetric import matvec
from driftway.learners.numeric.vectors import dot

KEEP = 1.0, 0.999, 0.98
"""What a row leaves of the weight of those before, by expert."""
P_MAX = 1e4
"""Wind-up guard, as of `dfop`."""


@kernel_without_refcounts
def forecast(weight: Array, x: Array, said: Array, first: int) -> int:
    """Write what each expert says, from `first` on; the place behind. Shapes: weight f8[m, d], x f8[d], said f8[E]."""
    for m in range(weight.shape[0]):
        said[first + m] = dot(weight[m], x)
    return first + weight.shape[0]


@kernel_without_refcounts
def fold(weight: Array, P: Array, x: Array, y: float, k: Array, skipped: Counts) -> None:
    """Let each expert learn y; steps that are not finite are counted and left out.

    Shapes: weight f8[m, d] with m <= 3, P f8[m, d, d], x f8[d], k f8[d] scratch, skipped i8[1].
    """
    for m in range(weight.shape[0]):
        expert = LeastSquares(weight[m], P[m], skipped, k)
        if not absorb(matvec(P[m], x, k), y - dot(weight[m], x), 1.0, KEEP[m], P_MAX, expert):
            skipped[0] += 1
