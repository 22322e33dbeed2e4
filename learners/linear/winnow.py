"""Winnow: multiplicative updates, for concepts that depend on few of many features."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    field,
    flag,
    fragment,
    intercept,
    number,
    scratch,
)
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.vectors import dot

LARGEST_LOG = 500.0
"""Largest absolute logarithm of a weight: e^500 = 1e217, and 1e91 such weights still have a finite sum."""

SMALLEST = 1e-300
"""Smallest share, so that its logarithm stays finite."""

BALANCED, NORMALIZED, UNBALANCED = range(3)

LN_2 = 0.6931471805599453
"""Step size of the unbalanced form, Winnow2, which doubles and halves weights."""


class Winnow(Learner):
    """Multiplies weights where the perceptron adds to them; mistakes grow with ln d instead of d on sparse concepts.

    Balanced, for features of any sign: w = w+ - w-, w+ = exp(l), w- = exp(-l), normalised to a sum of U;
    on y s <= 0: l <- l + eta y x. Unbalanced, for features in [0, 1]: w = exp(l), s = w'x - theta d;
    on y s <= 0: l <- l + ln(2) y x.

    Cost
    ----
    O(d) per row, plus 2 d exponentials for each row learned; 8 d + 8 bytes.

    Source
    ------
    Littlestone, Machine Learning 2, 1988 (Winnow2); Kivinen and Warmuth, 1997 (EG+-). docs/algorithms/linear.md#winnow.
    Differs: logarithms are kept within -500 and 500.
    """

    name = "winnow"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(0.1, "Step size of the balanced form.", above=0.0)
        balanced: bool = flag(
            True, "A positive and a negative weight per feature. False is Winnow2: no intercept, features in [0, 1]."
        )
        normalize: bool = flag(True, "Balanced form: weights sum to U. Changes the size of the score, not its sign.")
        U: float = number(10.0, "Balanced form: sum of the weights.", above=0.0)
        theta: float = number(1.0, "Threshold of the unbalanced form per feature.", above=0.0)
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.intercept and not self.balanced:
                raise ParameterError("intercept must be false if balanced is: the threshold takes its place")

    def rule(self) -> UpdateRule:
        p = self.parameters
        if p.balanced:
            given = WinnowNumbers(NORMALIZED if p.normalize else BALANCED, p.eta, p.U, 0.0)
        else:
            given = WinnowNumbers(UNBALANCED, LN_2, p.U, p.theta * self.width)
        return UpdateRule(score, learn, given, WinnowState, uses_weight=True, begin=renew)


class WinnowNumbers(NamedTuple):
    """Parameters of `winnow`."""

    form: int
    """`BALANCED`, `NORMALIZED` or `UNBALANCED`."""
    eta: float
    U: float
    """Sum of the weights in the normalised form."""
    threshold: float


class WinnowState(NamedTuple):
    """State of `winnow`."""

    log_weight: Array = field("f8[d]", "l, logarithms of w+, d with the intercept; those of w- are -l")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    weight: Array = scratch("f8[d]", "the weights, which from one row to the next are those of log_weight")


@fragment
def score(x: Array, p: WinnowNumbers, memory: WinnowState) -> float:
    """The score w'x minus the threshold. Shapes: x f8[d]."""
    return dot(memory.weight, x) - p.threshold


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: WinnowNumbers, memory: WinnowState) -> None:
    """Multiply each weight by exp(eta y x_j) if the row is misclassified. Shapes: x f8[d].

    See docs/algorithms/linear.md#winnow.
    """
    if not math.isfinite(s):
        memory.skipped[0] += 1
        return
    if y * s > 0.0:
        return
    step_within(memory.log_weight, x, p.eta * y * omega)
    renew(p, memory)


@fragment
def step_within(log_weight: Array, x: Array, step: float) -> None:
    """Multiply each weight by exp(step x_j), its logarithm kept within bounds. Shapes: log_weight f8[d], x f8[d]."""
    for j in range(x.shape[0]):
        moved = log_weight[j] + step * x[j]
        log_weight[j] = min(max(moved, -LARGEST_LOG), LARGEST_LOG)


@fragment
def renew(p: WinnowNumbers, memory: WinnowState) -> None:
    """Recompute the weights from their logarithms.

    Only the normalised form is computed relative to the largest weight; in the others that would change the score.
    """
    log_weight, weight = memory.log_weight, memory.weight
    if p.form == UNBALANCED:
        for j in range(weight.shape[0]):
            weight[j] = exp(log_weight[j])
        return
    largest = 0.0
    if p.form == NORMALIZED:
        for j in range(weight.shape[0]):
            largest = max(largest, abs(log_weight[j]))
    total = 0.0
    for j in range(weight.shape[0]):
        positive = exp(log_weight[j] - largest)
        negative = exp(-log_weight[j] - largest)
        weight[j] = positive - negative
        total += positive + negative
    if p.form == NORMALIZED:
        for j in range(weight.shape[0]):
            weight[j] *= p.U / total


@fragment
def share_evenly(log_weight: Array, share: float) -> None:
    """Normalise N weights to a sum of 1, raise each to `share` / N at least, and normalise again.

    Shapes: log_weight f8[N], logarithms within bounds.
    """
    n = log_weight.shape[0]
    largest, total, raised = -LARGEST_LOG, 0.0, 0.0
    for j in range(n):
        largest = max(largest, log_weight[j])
    for j in range(n):
        log_weight[j] = exp(log_weight[j] - largest)
        total += log_weight[j]
    least = max(SMALLEST, share / n)
    for j in range(n):
        log_weight[j] = max(log_weight[j] / total, least)
        raised += log_weight[j]
    for j in range(n):
        log_weight[j] = log(log_weight[j] / raised)
