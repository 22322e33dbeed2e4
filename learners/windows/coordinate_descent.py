"""The support vector machine on a window of rows, by dual coordinate descent: ring, training, and what they share.

min over w of |w|^2 / 2 + C sum of [1 - y_i w.x_i]_+, in its dual: w = sum of alpha_i y_i x_i with 0 <= alpha_i <= C.
Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 1 with the L1 loss. ALGORITHMS.md 12.1.
"""

import math
from typing import Any, NamedTuple

from learners.contract import Array, Counts, Parameters, field, fragment, integer, intercept, number
from learners.random import Words, permute
from learners.vectors import dot, step_along

STILL = 1e-12
"""Projected gradient below which a coefficient stays as it is."""


class Training(Parameters):
    """Parameters of every support vector machine on a window."""

    C: float = number(1.0, "Most that a row may weigh. Larger = fewer errors in the window, smaller margin.", above=0.0)
    tol: float = number(
        1e-3, "A training ends when the projected gradients of a sweep differ by less than this.", above=0.0
    )
    max_sweeps: int = integer(10, "Most sweeps over the window in one training.", at_least=1)
    seed: int = integer(1, "Of the generator of the order in which rows are visited.", at_least=0, at_most=2**53)
    intercept: bool = intercept()


class Ring(NamedTuple):
    """The last W rows; number t from 0 stands at t mod W."""

    X: Array = field("f8[W, d]", "rows, d with the intercept")
    Y: Array = field("f8[W]", "their labels, -1 or 1")
    squared: Array = field("f8[W]", "their squared lengths")
    taken: Counts = field("i8[1]", "rows taken in since the start")


@fragment
def usable(x: Array) -> bool:
    """Whether a row can be trained on: its squared length is neither infinite nor 0. Shapes: x f8[d]."""
    return 0.0 < dot(x, x) < math.inf


@fragment
def slot_of_next(ring: Ring) -> int:
    """Where the next row will stand, in place of the oldest once the ring is full."""
    return int(ring.taken[0] % ring.Y.shape[0])


@fragment
def rows_in(ring: Ring) -> int:
    """How many rows the ring holds."""
    return int(min(ring.taken[0], ring.Y.shape[0]))


@fragment
def take_in(x: Array, y: float, ring: Ring) -> None:
    """Put the row where the oldest stands. Shapes: x f8[d]."""
    slot = slot_of_next(ring)
    for j in range(x.shape[0]):
        ring.X[slot, j] = x[j]
    ring.Y[slot] = y
    ring.squared[slot] = dot(x, x)
    ring.taken[0] += 1


@fragment
def count_from(first: int, n_slots: int, order: Array) -> None:
    """Write as many slots as `order` is long, from `first` on and round the ring. Shapes: order f8[m]."""
    for i in range(order.shape[0]):
        order[i] = (first + i) % n_slots


@fragment
def train_anew(weight: Array, alpha: Array, order: Array, ring: Ring, p: Any, generator: Words) -> None:
    """`train` from zero coefficients. Shapes: as there."""
    for j in range(weight.shape[0]):
        weight[j] = 0.0
    for i in range(alpha.shape[0]):
        alpha[i] = 0.0
    train(weight, alpha, order, ring, p, generator)


@fragment
def train(weight: Array, alpha: Array, order: Array, ring: Ring, p: Any, generator: Words) -> None:
    """Sweep over the rows in `order`, shuffled before each sweep, until their gradients agree or sweeps run out.

    Shapes: weight f8[d], alpha f8[W], order f8[m] slots, generator u8[4]. Invariant: 0 <= alpha <= C and weight is
    the sum of alpha_i y_i x_i, both finite. A step that would overflow is not taken.
    """
    sweeps, gap = 0, math.inf
    while sweeps < p.max_sweeps and gap >= p.tol:
        permute(generator, order)
        highest, lowest = -math.inf, math.inf
        for place in range(order.shape[0]):
            i = int(order[place])
            gradient = ring.Y[i] * dot(weight, ring.X[i]) - 1.0  # Algorithm 1, step (a)
            if math.isfinite(gradient):
                projected = project(gradient, alpha[i], p.C)  # step (b)
                highest = max(highest, projected)
                lowest = min(lowest, projected)
                if abs(projected) > STILL:  # step (c)
                    moved = min(max(alpha[i] - gradient / ring.squared[i], 0.0), p.C)
                    if step_along(weight, ring.X[i], (moved - alpha[i]) * ring.Y[i]):
                        alpha[i] = moved
        gap = highest - lowest
        sweeps += 1


@fragment
def project(gradient: float, alpha: float, C: float) -> float:
    """The part of the gradient along which 0 <= alpha <= C leaves room to descend."""
    if alpha <= 0.0:
        return min(gradient, 0.0)
    if alpha >= C:
        return max(gradient, 0.0)
    return gradient
