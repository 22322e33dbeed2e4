"""The multiclass relaxed maximum margin step: all weights shrink, and those of two classes move along the row."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, UpdateRule, field, fragment, scratch
from driftway.learners.linear.relaxed_margin import LONGEST, PARALLEL, SMALLEST_TARGET, RelaxedMarginNumbers
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.multiclass.weights import products
from driftway.learners.numeric.vectors import dot, euclidean_norm, multiply


class ClassRelaxedMarginState(NamedTuple):
    """State of `mc_romma` and `mc_aromma`."""

    weight: Array = field("f8[K, d]", "one row per class, d with the intercept")
    mu: Array = field("f8[1]", "margin aimed at, in units of `weight`: 1 until the weights are scaled down", start=1.0)
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite, zero rows among them")
    S: Array = scratch("f8[K]", "the scores")


def into_half_spaces(aggressive: bool) -> UpdateRule:
    """The rule of `mc_romma` or, if aggressive, of `mc_aromma`."""
    return UpdateRule(products, learn, RelaxedMarginNumbers(aggressive), ClassRelaxedMarginState, classes=True)


@fragment
def learn(
    x: Array, label: int, _omega: float, finite: bool, p: RelaxedMarginNumbers, memory: ClassRelaxedMarginState
) -> None:
    """Take the shortest weights in the half-spaces of this row and of all rows before it.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners: the two-class step for phi, which is x in the
    right class, -x in the best wrong one and 0 elsewhere. Learns if the margin m <= 0 or, `aggressive`, if m < mu.
    """
    rival = best_wrong(memory.S, label)
    m = memory.S[label] - memory.S[rival]
    target = memory.mu[0]
    far = m >= target if p.aggressive else m > 0.0
    if finite and far:
        return
    weights = memory.weight.reshape(-1)  # all classes in one vector
    x2 = 2.0 * dot(x, x)
    w2 = dot(weights, weights)
    both = x2 * w2
    if not (finite and 0.0 < x2 < math.inf and both < math.inf):
        memory.skipped[0] += 1
        return
    den = both - m * m
    keep, step = 0.0, target / x2  # the first row, or one whose half-space alone decides: c < 0
    if w2 > 0.0 and den <= PARALLEL * both:
        keep, step = 1.0, (target - m) / x2
    elif w2 > 0.0 and both - target * m >= 0.0:
        keep, step = (both - target * m) / den, w2 * (target - m) / den
    if not shrink_and_part(memory.weight, keep, label, rival, x, step):
        memory.skipped[0] += 1
        return
    size = euclidean_norm(weights)
    if size > LONGEST:
        multiply(weights, 1.0 / size)
        memory.mu[0] = max(target / size, SMALLEST_TARGET)


@fragment
def shrink_and_part(weight: Array, keep: float, label: int, rival: int, x: Array, step: float) -> bool:
    """Multiply all weights by `keep`, then add step * x to class `label` and subtract it from `rival`.

    Shapes: weight f8[K, d], x f8[d]. Returns False without a change if a coordinate would overflow.
    """
    overflows = False
    for r in range(weight.shape[0]):
        along = step if r == label else (-step if r == rival else 0.0)
        for j in range(x.shape[0]):
            moved = keep * weight[r, j] + along * x[j]
            overflows |= moved - moved != 0.0
    if overflows:
        return False
    for r in range(weight.shape[0]):
        along = step if r == label else (-step if r == rival else 0.0)
        for j in range(x.shape[0]):
            weight[r, j] = keep * weight[r, j] + along * x[j]
    return True
