"""The passive-aggressive step, shared by `pa`, `pa1` and `pa2`, which differ in how they limit its length."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, UpdateRule, fragment
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.linear.weights import Weights, product
from driftway.learners.numeric.vectors import axpy_guarded, dot


class PassiveAggressiveNumbers(NamedTuple):
    """Step length tau = min(cap, loss / (x'x + ridge)). PA has (inf, 0), PA-I (C, 0), PA-II (inf, 1 / 2C)."""

    cap: float
    ridge: float
    eps: float = 0.0
    """Half width of the tube (regression) or radius of the ball (one class)."""


def towards_margin(cap: float, ridge: float) -> UpdateRule:
    """The rule for two classes."""
    return UpdateRule(
        product, learn_margin, PassiveAggressiveNumbers(cap, ridge), Weights, uses_weight=True, sharing=SharedFields()
    )


def towards_target(cap: float, ridge: float, eps: float) -> UpdateRule:
    """The rule for regression."""
    return UpdateRule(
        product,
        learn_target,
        PassiveAggressiveNumbers(cap, ridge, eps),
        Weights,
        uses_weight=True,
        sharing=SharedFields(),
    )


@fragment
def learn_margin(x: Array, y: float, omega: float, s: float, p: PassiveAggressiveNumbers, memory: Weights) -> None:
    """Move towards the half-space in which the row has margin 1, all the way or as far as `tau` allows.

    Shapes: x f8[d]. docs/algorithms/linear.md#linear-learners.
    """
    finite = math.isfinite(s)
    loss = 1.0 - y * s  # step 1
    if finite and loss <= 0.0:
        return
    x2 = dot(x, x)  # step 2
    usable = finite and 0.0 < x2 < math.inf
    if not (usable and axpy_guarded(memory.weight, x, tau(loss, x2, omega, p) * y)):  # steps 3 and 4
        memory.skipped[0] += 1


@fragment
def learn_target(x: Array, y: float, omega: float, s: float, p: PassiveAggressiveNumbers, memory: Weights) -> None:
    """As `learn_margin`, towards a score within eps of the target. Shapes: x f8[d].

    See docs/algorithms/linear.md#linear-learners.
    """
    finite = math.isfinite(s)
    loss = abs(y - s) - p.eps
    if finite and loss <= 0.0:
        return
    x2 = dot(x, x)
    usable = finite and 0.0 < x2 < math.inf
    if not (usable and axpy_guarded(memory.weight, x, math.copysign(tau(loss, x2, omega, p), y - s))):
        memory.skipped[0] += 1


@fragment
def tau(loss: float, x2: float, omega: float, p: PassiveAggressiveNumbers) -> float:
    """Step length of a row of weight omega, which multiplies C; without a C, min(omega, 1) multiplies the step."""
    if p.cap < math.inf:
        return min(p.cap * omega, loss / x2)
    if p.ridge > 0.0:
        return loss / (x2 + p.ridge / omega)
    return loss / x2 * min(omega, 1.0)
