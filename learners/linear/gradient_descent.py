"""Online gradient descent: one rule for every loss, schedule, ball and restart."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    flag,
    fragment,
    intercept,
    number,
)
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.linear.weights import SteppedWeights, product
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.vectors import axpy_guarded, dot, euclidean_norm, multiply, scale_and_axpy

LOSSES = ("hinge", "logistic", "square", "eps_insensitive", "huber")
HINGE, LOGISTIC, SQUARE, EPS_INSENSITIVE, HUBER = range(5)
SCHEDULES = ("const", "inv_sqrt", "inv_t")
CONST, INV_SQRT, INV_T = range(3)

LARGEST_EXPONENT = 700.0
"""exp overflows from 710 on."""

NEVER = 0
"""Epoch length that never restarts: rows are counted from 1, so no row has this number."""


class GradientDescentNumbers(NamedTuple):
    """Parameters of the family."""

    loss: int
    schedule: int
    eta: float
    l2: float
    radius: float
    """Largest norm of the weights; may be inf."""
    epoch: int = NEVER
    """Labelled rows after which the weights and t are reset."""
    eps: float = 0.0
    """Half width of the tube of the eps-insensitive loss; the error above which the Huber loss is linear."""
    safe: bool = False
    """Whether the step is at most 1 / x'x, which brings the squared error of the row to 0."""


def first_step() -> Any:
    """The parameter for the step size."""
    return number(1.0, "Step size of the first row.", above=0.0)


def step_schedule() -> Any:
    """The parameter for how the step size shrinks."""
    text = (
        "Step at labelled row t: `const` eta, `inv_sqrt` eta / sqrt(t), `inv_t` eta / t. On streams that drift `const` "
        "with eta 0.01 to 0.1."
    )
    return choice("inv_sqrt", SCHEDULES, text)


def safe_step() -> Any:
    """The parameter that keeps a step from overshooting the row's target."""
    return flag(True, "Shorten the step of the square loss to 1 / x'x; it diverges from 2 / x'x on.")


class GradientDescentParameters(Parameters):
    """Parameters shared by the family."""

    eta: float = first_step()
    schedule: str = step_schedule()
    l2: float = number(0.0, "Weight of the penalty |w|^2 / 2, at most 1/eta.", at_least=0.0)
    radius: float = number(0.0, "Longest weight vector, longer ones are scaled back; 0 = no bound.", at_least=0.0)
    intercept: bool = intercept()

    def __post_init__(self) -> None:
        super().__post_init__()
        # The first step may shrink the weights to 0 but not flip their sign; 1e-12 allows for rounding of 1 / eta.
        if self.eta * self.l2 > 1.0 + 1e-12:
            raise ParameterError(f"l2 must be <= 1/eta = {1.0 / self.eta:g}, got {self.l2}")


def descend(p: Any, loss: str, epoch: int = NEVER, eps: float = 0.0, safe: bool = False) -> UpdateRule:
    """The rule of a learner whose parameters are `GradientDescentParameters`."""
    radius = p.radius if p.radius > 0.0 else math.inf
    safe = safe and loss in ("square", "huber")
    given = GradientDescentNumbers(
        LOSSES.index(loss), SCHEDULES.index(p.schedule), p.eta, p.l2, radius, epoch, eps, safe
    )
    return descent(given)


def descent(given: GradientDescentNumbers) -> UpdateRule:
    """The rule of a learner with these parameters."""
    return UpdateRule(product, learn, given, SteppedWeights, uses_weight=True, sharing=SharedFields())


@fragment
def slope(loss: int, s: float, target: float, eps: float) -> float:
    """g, the derivative of the loss by the score; its gradient by the weights is g x.

    See docs/algorithms/conventions.md#loss-functions.
    """
    if loss == HINGE:
        return -target if target * s < 1.0 else 0.0
    if loss == LOGISTIC:
        margin = min(max(target * s, -LARGEST_EXPONENT), LARGEST_EXPONENT)
        return -target / (1.0 + exp(margin))
    residual = s - target
    if loss == SQUARE:
        return residual
    if loss == HUBER:
        return min(max(residual, -eps), eps)
    return math.copysign(1.0, residual) if abs(residual) > eps else 0.0


@fragment
def step_at(t: int, schedule: int, eta: float) -> float:
    """eta_t, the step size of labelled row t = 1, 2, ... (docs/algorithms/conventions.md#step-size-schedules)."""
    if schedule == INV_SQRT:
        return eta / math.sqrt(t)
    if schedule == INV_T:
        return eta / t
    return eta


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: GradientDescentNumbers, memory: SteppedWeights) -> None:
    """Step against the gradient: w <- (1 - eta_t l2) w - eta_t g x, project into the ball, restart if due.

    Shapes: x f8[d]. docs/algorithms/linear.md#linear-learners. A row that would overflow counts for t but leaves
    the weights unchanged.
    """
    memory.learned[0] += 1
    g = slope(p.loss, s, y, p.eps) * omega
    if not math.isfinite(s):
        memory.skipped[0] += 1
    elif g != 0.0 or p.l2 > 0.0:
        step = step_at(memory.learned[0], p.schedule, p.eta)
        if p.safe:
            step = min(step, 1.0 / (dot(x, x) * omega))
        if p.l2 > 0.0:
            moved = scale_and_axpy(memory.weight, 1.0 - step * p.l2, x, -step * g)
        else:
            moved = axpy_guarded(memory.weight, x, -step * g)
        if not moved:
            memory.skipped[0] += 1
        elif p.radius < math.inf:
            norm = euclidean_norm(memory.weight)
            if norm > p.radius:
                multiply(memory.weight, p.radius / norm)
    if memory.learned[0] == p.epoch:
        memory.weight[:] = 0.0
        memory.learned[0] = 0
