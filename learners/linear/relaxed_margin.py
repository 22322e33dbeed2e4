"""The relaxed maximum margin step: the shortest weights in two half-spaces, the row's and one for all rows before."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, UpdateRule, field, fragment
from driftway.learners.linear.weights import product
from driftway.learners.numeric.vectors import dot, euclidean_norm, multiply, scale_and_axpy

PARALLEL = 1e-12
"""Squared sine of the angle between row and weights below which they count as parallel."""
LONGEST = 1e6
"""Norm above which the weights are scaled to 1: on noisy rows they would grow to infinity within thousands of rows."""
SMALLEST_TARGET = 1e-200
"""Smallest target margin; repeated rescaling would bring it to 0, and a target of 0 teaches nothing."""


class RelaxedMarginNumbers(NamedTuple):
    """Parameters of `romma` and `aromma`."""

    aggressive: bool
    """Whether to learn also from rows whose margin is too small, not only from misclassified rows."""


class RelaxedMarginState(NamedTuple):
    """State of `romma` and `aromma`."""

    weight: Array = field("f8[d]", "d with the intercept")
    mu: Array = field("f8[1]", "margin aimed at, in units of `weight`: 1 until the weights are scaled down", start=1.0)
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite, zero rows among them")


def towards_half_spaces(aggressive: bool) -> UpdateRule:
    """The rule of `romma` or, if aggressive, of `aromma`."""
    return UpdateRule(product, learn, RelaxedMarginNumbers(aggressive), RelaxedMarginState)


@fragment
def learn(x: Array, y: float, _omega: float, s: float, p: RelaxedMarginNumbers, memory: RelaxedMarginState) -> None:
    """Take the shortest weights in the half-spaces of this row and of all rows before it.

    Shapes: x f8[d]. docs/algorithms/linear.md#linear-learners. Learns if y s <= 0 or, `aggressive`, if y s < mu.
    """
    finite = math.isfinite(s)
    far = y * s >= memory.mu[0] if p.aggressive else y * s > 0.0
    if finite and far:
        return
    x2 = dot(x, x)
    w2 = dot(memory.weight, memory.weight)
    both = x2 * w2
    if not (finite and 0.0 < x2 < math.inf and both < math.inf):
        memory.skipped[0] += 1
        return
    target = memory.mu[0] * y
    den = both - s * s
    keep, step = 0.0, target / x2  # the first row, or one whose half-space alone decides: c < 0
    if w2 > 0.0 and den <= PARALLEL * both:
        keep, step = 1.0, (target - s) / x2
    elif w2 > 0.0 and both - target * s >= 0.0:
        keep, step = (both - target * s) / den, w2 * (target - s) / den
    if not scale_and_axpy(memory.weight, keep, x, step):
        memory.skipped[0] += 1
        return
    size = euclidean_norm(memory.weight)
    if size > LONGEST:
        multiply(memory.weight, 1.0 / size)
        memory.mu[0] = max(memory.mu[0] / size, SMALLEST_TARGET)
