"""Online gradient descent on the two cost-sensitive hinge losses, shared by `csogd1` and `csogd2`."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, UpdateRule, field, fragment
from driftway.learners.imbalanced.imbalance import imbalance, prices
from driftway.learners.linear.weights import product
from driftway.learners.numeric.vectors import axpy_guarded


class WeightedHingeNumbers(NamedTuple):
    """Parameters of `csogd1` and `csogd2`."""

    steeper: bool
    """Whether to use loss II, with larger steps for class 1, instead of a larger margin."""
    eta: float
    price_p: float
    """Weight of class 1."""
    price_n: float
    """Weight of class 0."""
    shared: bool
    """Whether a class shares its weight among its rows; otherwise each row has it."""


class WeightedHingeState(NamedTuple):
    """State of `csogd1` and `csogd2`."""

    weight: Array = field("f8[d]", "d with the intercept")
    classes: Counts = field("i8[2]", "labelled rows of class 0 and of class 1, plus 1", start=1.0)
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")


def weighted_hinge(steeper: bool, p: Any) -> UpdateRule:
    """The rule of a learner whose parameters p have eta and those of `CostSensitiveParameters`."""
    return UpdateRule(
        product, learn, WeightedHingeNumbers(steeper, p.eta, *prices(p)), WeightedHingeState, uses_weight=True
    )


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: WeightedHingeNumbers, memory: WeightedHingeState) -> None:
    """Step by eta y x if the margin is below rho_t (loss I), or by rho_t eta y x if below 1 (loss II).

    Shapes: x f8[d]. docs/algorithms/imbalanced.md#imbalanced-classes. The row's class is counted before rho is
    computed, once whatever omega is; a row that would overflow is counted but not learned.
    """
    memory.classes[1 if y > 0.0 else 0] += 1
    rho = imbalance(p.price_p, p.price_n, p.shared, memory.classes) if y > 0.0 else 1.0
    if not math.isfinite(s):
        memory.skipped[0] += 1
    elif y * s < (1.0 if p.steeper else rho):
        step = p.eta * rho if p.steeper else p.eta
        if not axpy_guarded(memory.weight, x, step * omega * y):
            memory.skipped[0] += 1
