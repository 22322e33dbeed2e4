"""The support vector machine on a window of rows: one dual coordinate descent solver for any kernel.

min over w of |w|^2 / 2 + C sum of [1 - y_i w.x_i]_+, in its dual: w = sum of alpha_i y_i x_i with 0 <= alpha_i <= C.
Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 1 with the L1 loss.
docs/algorithms/windows.md#window-methods.

The solver maintains one vector along with the coefficients. Without a kernel it is w, and the machine's value at row i
is w.x_i; with one it is f, the values at all rows, and no w is needed. A step on row i adds a multiple of x_i, or of
the kernel values of row i, to it.
"""

import dataclasses
import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, ParameterError, Parameters, choice, fragment, integer, intercept, number
from driftway.learners.numeric.random import Words, permute
from driftway.learners.numeric.vectors import axpy, axpy_guarded, dot

STILL = 1e-12
"""Projected gradient up to which a coefficient is not changed."""
LARGEST = sys.float_info.max
"""Used instead of infinity before the first gradient, because a state must be finite."""
FAR_FROM_OVERFLOW = 1e300
"""Bound below which rounding cannot cause an overflow."""
MAX_ROWS = 5000
"""Limit of the ring with a kernel, whose values then take 200 MB."""


class WindowSVMParameters(Parameters):
    """Parameters of every support vector machine on a window."""

    C: float = number(1.0, "Largest weight of a row. Larger = fewer errors in the window, smaller margin.", above=0.0)
    kernel: str = choice(
        "linear",
        ("linear", "gaussian"),
        "`linear`, or `gaussian`: exp(-gamma |x - z|^2), plus 1 with an intercept.",
    )
    gamma: float = number(
        0.0,
        "Coefficient of the Gaussian kernel, in units of 1 / a squared feature; 0: 1 / the number of features.",
        at_least=0.0,
    )
    tol: float = number(
        1e-3, "A training ends when the projected gradients of a sweep differ by less than this.", above=0.0
    )
    max_sweeps: int = integer(10, "Largest number of sweeps over the window in one training.", at_least=1)
    seed: int = integer(1, "Seed of the order in which rows are visited.", at_least=0, at_most=2**53)
    intercept: bool = intercept()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel != "linear" and self.slots > MAX_ROWS:
            raise ParameterError(f"kernel = {self.kernel} is for at most {MAX_ROWS} rows, this window has {self.slots}")

    @property
    def slots(self) -> int:
        """R, the capacity of the ring in rows."""
        raise NotImplementedError

    def numbers_for(self, n_features: int) -> Any:
        """As `numbers`, with the effective gamma."""
        return dataclasses.replace(self, gamma=self.gamma or 1.0 / n_features).numbers()


class DualVariables(NamedTuple):
    """A problem over the slots of a ring, and its current solution."""

    vector: Array
    """f8[d] weights, or f8[R] values"""
    rows: Array
    """f8[R, d] rows, or f8[R, R] kernel values, of which a step adds a multiple to the vector"""
    alpha: Array
    """f8[R]"""
    Y: Array
    """f8[R], -1 or 1"""
    squared: Array
    """f8[R], the kernel of each row with itself, above 0"""


Value = Callable[[Array, Array, int], float]


@fragment
def by_weights(vector: Array, rows: Array, i: int) -> float:
    """Value at row i without a kernel. Shapes: vector f8[d], rows f8[R, d]."""
    return dot(vector, rows[i])


@fragment
def by_values(vector: Array, _rows: Array, i: int) -> float:
    """Value at row i with a kernel. Shapes: vector f8[R]."""
    return float(vector[i])


@cache
def visitor(value: Value) -> Callable[..., tuple[float, float]]:
    """Make Algorithm 1's inner loop."""

    @fragment
    def visit(dual: DualVariables, order: Array, C: float) -> tuple[float, float]:
        """Take a step on each row in turn; return the highest and the lowest projected gradient.

        Shapes: order f8[m] slots. Invariant: 0 <= alpha <= C and the vector is that of alpha, both finite. A step that
        would overflow is not taken.
        """
        safe = stays_finite(dual, C)
        highest, lowest = -LARGEST, LARGEST
        for place in range(order.shape[0]):
            i = int(order[place])
            gradient = dual.Y[i] * value(dual.vector, dual.rows, i) - 1.0  # step (a)
            if math.isfinite(gradient):
                alpha = dual.alpha[i]
                projected = project(gradient, alpha, C)  # step (b)
                highest = max(highest, projected)
                lowest = min(lowest, projected)
                if abs(projected) > STILL:  # step (c)
                    moved = min(max(alpha - gradient / dual.squared[i], 0.0), C)
                    step = (moved - alpha) * dual.Y[i]
                    if safe:
                        axpy(dual.vector, dual.rows[i], step)
                        dual.alpha[i] = moved
                    elif axpy_guarded(dual.vector, dual.rows[i], step):
                        dual.alpha[i] = moved
        return highest, lowest

    return visit


@cache
def trainer(value: Value) -> Callable[..., None]:
    """Make Algorithm 1, starting from the current solution."""
    visit = visitor(value)

    @fragment
    def train(dual: DualVariables, order: Array, p: Any, generator: Words) -> None:
        """Sweep over the rows in `order`, shuffled before each sweep, until convergence or `max_sweeps`.

        Shapes: order f8[m] slots, generator u8[4].
        """
        sweeps, gap = 0, math.inf
        while sweeps < p.max_sweeps and gap >= p.tol:
            permute(generator, order)
            highest, lowest = visit(dual, order, p.C)
            gap = highest - lowest
            sweeps += 1

    return train


@fragment
def stays_finite(dual: DualVariables, C: float) -> bool:
    """Whether the vector cannot overflow for any coefficients between 0 and C, so that steps need no guard.

    The entries added by a step are bounded by |x| or k(x, z), hence by 1 or the largest k(x, x).
    """
    largest = 1.0
    for i in range(dual.squared.shape[0]):
        largest = max(largest, dual.squared[i])
    return C * dual.squared.shape[0] * largest < FAR_FROM_OVERFLOW


@fragment
def project(gradient: float, alpha: float, C: float) -> float:
    """Return the projected gradient: the part along which 0 <= alpha <= C allows descent."""
    if alpha <= 0.0:
        return min(gradient, 0.0)
    if alpha >= C:
        return max(gradient, 0.0)
    return gradient


@fragment
def remove_row(dual: DualVariables, slot: int) -> None:
    """Subtract the part of a row that leaves from the vector."""
    if dual.alpha[slot] > 0.0:
        axpy_guarded(dual.vector, dual.rows[slot], -dual.alpha[slot] * dual.Y[slot])
        dual.alpha[slot] = 0.0


@fragment
def recompute_vector(dual: DualVariables) -> None:
    """Recompute the vector from the coefficients; a row that would overflow it gets coefficient 0."""
    for j in range(dual.vector.shape[0]):
        dual.vector[j] = 0.0
    for i in range(dual.alpha.shape[0]):
        if dual.alpha[i] > 0.0 and not axpy_guarded(dual.vector, dual.rows[i], dual.alpha[i] * dual.Y[i]):
            dual.alpha[i] = 0.0
