"""Perceptron-like learning in p-norm geometry: one kernel for `p_norm_perceptron`, `norma` and `alma`.

They keep the dual vector theta, to which rows are added. The weights w of the score are its image under the inverse
link. For p = 2 the two are equal; a large p favours few relevant features.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.linear.number_or_word import AUTO, number_or
from learners.vectors import dot, length, multiply, step_along

SMALLEST_SCALE = 1e-100
"""The common factor of theta is multiplied in below this; far from where it, or 1 / factor, would leave float64."""


def exponent() -> Any:
    """The parameter p, 2 unless given."""
    return number_or((AUTO,), 2.0, at_least=2.0)


def exponent_for(p: float | str, width: int) -> float:
    """p, or for ``auto`` what suits a sparse concept: max(2, 2 ln d)."""
    return max(2.0, 2.0 * math.log(width)) if isinstance(p, str) else float(p)


def room_for_weights(p: float, theta: Array) -> Array:
    """Where the kernel keeps the weights: theta itself where the link is the identity, scratch otherwise."""
    return theta if p == 2.0 else np.empty_like(theta)


@fragment
def weights_of(theta: Array, p: float, weight: Array) -> None:
    """Inverse link, w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2); KSW equation 1.

    Shapes: theta f8[d], weight f8[d], written. In units of the largest coordinate: as printed, |theta_i|^p overflows or
    vanishes for a p of 100.
    """
    largest = 0.0
    for j in range(theta.shape[0]):
        largest = max(largest, abs(theta[j]))
    total = 0.0
    for j in range(theta.shape[0]):
        ratio = abs(theta[j]) / largest if largest > 0.0 else 0.0
        weight[j] = ratio ** (p - 1.0)
        total += ratio * weight[j]
    divisor = total ** ((p - 2.0) / p)  # 1 <= total <= d, or 0 for theta = 0
    for j in range(theta.shape[0]):
        weight[j] = math.copysign(largest, theta[j]) * weight[j] / divisor if largest > 0.0 else 0.0


@fragment
def norm_of(theta: Array, p: float) -> float:
    """The p-norm, in units of the largest coordinate. Shapes: theta f8[d]."""
    if p == 2.0:
        return length(theta)
    largest = 0.0
    for j in range(theta.shape[0]):
        largest = max(largest, abs(theta[j]))
    total = 0.0
    for j in range(theta.shape[0]):
        total += (abs(theta[j]) / largest) ** p if largest > 0.0 else 0.0
    return largest * math.pow(total, 1.0 / p)


@bare_kernel
def p_norm_learning(
    rows: Array,
    y: Array,
    score: Array,
    p: float,
    alpha: float,
    rho: float,
    zero_is_mistake: bool,
    keep: float,
    radius: float,
    theta: Array,
    scale: Array,
    skipped: NDArray[np.int64],
    weight: Array,
) -> None:
    """Predict, shrink theta by `keep`, add alpha y x if the margin is at most rho, bring theta back into the ball.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], theta f8[d], scale f8[1], skipped i8[1], weight f8[d] scratch: the
    image of theta, theta itself for p = 2. The dual vector is scale * theta, so that shrinking costs O(1);
    KSW equation 2, with `keep` = 1 - alpha lambda, and the ball |theta|_p <= radius, which may be inf. Invariant:
    between rows `weight` is that of theta.
    """
    if p != 2.0:
        weights_of(theta, p, weight)
    factor = scale[0]
    step = alpha / (factor * keep)
    for t in range(rows.shape[0]):
        x = rows[t]
        s = factor * dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if math.isnan(label):
            continue
        wrong = label * s <= rho and (zero_is_mistake or s != 0.0 or label < 0.0)
        if wrong or not finite:
            if not (finite and step_along(theta, x, label * step)):
                skipped[0] += 1
                continue
            if radius < math.inf:
                norm = norm_of(theta, p)
                if norm > radius:
                    multiply(theta, radius / norm)
            if p != 2.0:
                weights_of(theta, p, weight)
        if keep < 1.0:
            factor *= keep
            if factor < SMALLEST_SCALE:
                multiply(theta, factor)
                factor = 1.0
                if p != 2.0:
                    weights_of(theta, p, weight)
            step = alpha / (factor * keep)
    scale[0] = factor
