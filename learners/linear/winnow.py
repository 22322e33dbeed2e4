"""Winnow: multiplicative updates, for concepts that few of many features decide."""

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
"""Bound of a logarithm of a weight: e^500 = 1e217, and 1e91 such weights still add up."""

SMALLEST = 1e-300
"""Of a share that has vanished: its logarithm stays finite."""

BALANCED, NORMALIZED, UNBALANCED = range(3)

LN_2 = 0.6931471805599453
"""Step of the unbalanced form, Winnow2: it doubles and halves."""


class Winnow(Learner):
    """Multiplies weights where the perceptron adds to them; mistakes grow with ln d instead of d on sparse concepts.

    Balanced, for features of any sign: w = w+ - w-, w+ = exp(l), w- = exp(-l), which normalised sum to U;
    on y s <= 0: l <- l + eta y x. Unbalanced, for features in [0, 1]: w = exp(l), s = w'x - theta d;
    on y s <= 0: l <- l + ln(2) y x.

    Cost
    ----
    O(d) per row, with 2 d exponentials for each that is learned; 8 d + 8 bytes.

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
        U: float = number(10.0, "Balanced form: what the weights sum to.", above=0.0)
        theta: float = number(1.0, "Threshold of the unbalanced form per feature.", above=0.0)
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.intercept and not self.balanced:
                raise ParameterError("intercept must be false where balanced is: the threshold takes its place")

    def rule(self) -> UpdateRule:
        p = self.parameters
        form = (NORMALIZED if p.normalize else BALANCED) if p.balanced else UNBALANCED
        eta, threshold = (p.eta, 0.0) if p.balanced else (LN_2, p.theta * self.width)
        given = Multiplication(form, eta, p.U, threshold)
        return UpdateRule(score, learn, given, Logarithms, uses_weight=True, begin=renew)


class Multiplication(NamedTuple):
    """Parameters of `winnow`."""

    form: int
    """Which of the three above."""
    eta: float
    U: float
    """What the weights of the normalised form sum to."""
    threshold: float


class Logarithms(NamedTuple):
    """Memory of `winnow`."""

    log_weight: Array = field("f8[d]", "l, logarithms of w+, d with the intercept; those of w- are -l")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    weight: Array = scratch("f8[d]", "the weights, which from one row to the next are those of log_weight")


@fragment
def score(x: Array, p: Multiplication, memory: Logarithms) -> float:
    """The score w'x less the threshold. Shapes: x f8[d]."""
    return dot(memory.weight, x) - p.threshold


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: Multiplication, memory: Logarithms) -> None:
    """Multiply each weight by exp(eta y x_j) if the label is on the other side. Shapes: x f8[d].

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
def renew(p: Multiplication, memory: Logarithms) -> None:
    """Make the weights those of their logarithms.

    Only the normalised form may be taken relative to the largest: elsewhere it would change the score.
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
    """Bring weights to a sum of 1, then each of the N to `share` / N at least, then all to a sum of 1 once more.

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
