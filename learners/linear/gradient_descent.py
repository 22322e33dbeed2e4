"""Online gradient descent: one kernel for every loss, schedule, ball and restart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.elementary.exponential import exp
from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.parameters import ParameterError
from learners.vectors import dot, length, multiply, shrink_and_step, step_along

LOSSES = ("hinge", "logistic", "square", "eps_insensitive")
HINGE, LOGISTIC, SQUARE, EPS_INSENSITIVE = range(4)
SCHEDULES = ("const", "inv_sqrt", "inv_t")
CONST, INV_SQRT, INV_T = range(3)

LARGEST_EXPONENT = 700.0
"""exp overflows from 710 on."""

NEVER = 0
"""As the length of a restart's epoch: rows are counted from 1, so none has this number."""


def refuse_overshrinking(eta: float, l2: float) -> None:
    """The first step may shrink the weights to nothing, never turn them round; rounding of 1 / eta is let pass.

    Raises
    ------
    ParameterError
        eta * l2 > 1.
    """
    if eta * l2 > 1.0 + 1e-12:
        raise ParameterError(f"l2 must be <= 1/eta = {1.0 / eta:g}, got {l2}")


def ball(radius: float) -> float:
    """What the kernel takes for `radius`: a parameter of 0 means no bound."""
    return radius if radius > 0.0 else math.inf


@fragment
def slope(loss: int, s: float, target: float, eps: float) -> float:
    """g, the derivative of the loss by the score (ALGORITHMS.md 1.14); its gradient by the weights is g x."""
    if loss == HINGE:
        return -target if target * s < 1.0 else 0.0
    if loss == LOGISTIC:
        margin = min(max(target * s, -LARGEST_EXPONENT), LARGEST_EXPONENT)
        return -target / (1.0 + exp(margin))
    residual = s - target
    if loss == SQUARE:
        return residual
    return math.copysign(1.0, residual) if abs(residual) > eps else 0.0


@bare_kernel
def gradient_descent(
    rows: Array,
    y: Array,
    score: Array,
    binary: bool,
    loss: int,
    eps: float,
    safe: bool,
    schedule: int,
    eta: float,
    l2: float,
    radius: float,
    epoch: int,
    weight: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict, then step against the gradient: w <- (1 - eta_t l2) w - eta_t g x, back into the ball, restart if due.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], learned i8[1], skipped i8[1]. ALGORITHMS.md 3.
    `safe` shortens the step to 1 / x'x, where the square loss of the row is 0; `radius` may be inf; after `epoch` rows
    (or NEVER) weights and t begin anew. A row that would overflow counts for t and leaves the weights.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        step = eta
        if schedule == INV_SQRT:
            step = eta / math.sqrt(learned[0])
        elif schedule == INV_T:
            step = eta / learned[0]
        g = slope(loss, s, 2.0 * y[t] - 1.0 if binary else y[t], eps)
        if not finite:
            skipped[0] += 1
        elif g != 0.0 or l2 > 0.0:
            if safe:
                step = min(step, 1.0 / dot(x, x))
            if l2 > 0.0:
                moved = shrink_and_step(weight, 1.0 - step * l2, x, -step * g)
            else:
                moved = step_along(weight, x, -step * g)
            if not moved:
                skipped[0] += 1
            elif radius < math.inf:
                norm = length(weight)
                if norm > radius:
                    multiply(weight, radius / norm)
        if learned[0] == epoch:
            weight[:] = 0.0
            learned[0] = 0
