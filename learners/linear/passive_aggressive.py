"""The passive-aggressive step, shared by `pa`, `pa1`, `pa2`: they differ in how far one row may pull."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Rule, fragment
from driftway.learners.engine.shared_fields import Sharing
from driftway.learners.linear.weights import Weights, product
from driftway.learners.numeric.vectors import dot, step_along


class Pull(NamedTuple):
    """How far: tau = min(cap, loss / (x'x + ridge)). PA has (inf, 0), PA-I (C, 0), PA-II (inf, 1 / 2C)."""

    cap: float
    ridge: float
    eps: float = 0.0
    """Half width of the tube, of regression; radius of the ball, of one class."""


def towards_margin(cap: float, ridge: float) -> Rule:
    """The rule of two classes."""
    return Rule(product, learn_margin, Pull(cap, ridge), Weights, weighs=True, sharing=Sharing())


def towards_target(cap: float, ridge: float, eps: float) -> Rule:
    """The rule of regression."""
    return Rule(product, learn_target, Pull(cap, ridge, eps), Weights, weighs=True, sharing=Sharing())


@fragment
def learn_margin(x: Array, y: float, omega: float, s: float, p: Pull, memory: Weights) -> None:
    """Move towards the half-space in which the row has margin 1: all the way, or as far as is allowed.

    Shapes: x f8[d]. ALGORITHMS.md 3.
    """
    finite = math.isfinite(s)
    loss = 1.0 - y * s  # step 1
    if finite and loss <= 0.0:
        return
    x2 = dot(x, x)  # step 2
    usable = finite and 0.0 < x2 < math.inf
    if not (usable and step_along(memory.weight, x, tau(loss, x2, omega, p) * y)):  # steps 3 and 4
        memory.skipped[0] += 1


@fragment
def learn_target(x: Array, y: float, omega: float, s: float, p: Pull, memory: Weights) -> None:
    """As `learn_margin`, towards a score within eps of the target. Shapes: x f8[d]. ALGORITHMS.md 3."""
    finite = math.isfinite(s)
    loss = abs(y - s) - p.eps
    if finite and loss <= 0.0:
        return
    x2 = dot(x, x)
    usable = finite and 0.0 < x2 < math.inf
    if not (usable and step_along(memory.weight, x, math.copysign(tau(loss, x2, omega, p), y - s))):
        memory.skipped[0] += 1


@fragment
def tau(loss: float, x2: float, omega: float, p: Pull) -> float:
    """How far the row pulls; one that counts omega has C omega for C or, where there is no C, pulls min(omega, 1)."""
    if p.cap < math.inf:
        return min(p.cap * omega, loss / x2)
    if p.ridge > 0.0:
        return loss / (x2 + p.ridge / omega)
    return loss / x2 * min(omega, 1.0)
