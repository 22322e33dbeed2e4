"""The geometry of p-norms, for `p_norm_perceptron`, `norma` and `alma`.

These learners keep the dual vector theta, to which rows are added. The weights w used for the score are its image
under the inverse link. For p = 2 the two are equal; a large p suits concepts with few relevant features.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch
from driftway.learners.engine.number_or_keyword import AUTO, number_or_keyword
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.elementary.power import power
from driftway.learners.numeric.vectors import dot, euclidean_norm


class PNormState(NamedTuple):
    """State of a learner that adds rows to a dual vector."""

    theta: Array = field("f8[d]", "dual weights, d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    weight: Array = scratch("f8[d]", "the image of theta; not used for p = 2, where it is theta itself")


def exponent() -> Any:
    """The parameter p, 2 by default."""
    text = "Norm of the dual vector; large for sparse concepts; `auto` = max(2, 2 ln d)."
    return number_or_keyword((AUTO,), 2.0, text=text, at_least=2.0)


def exponent_for(p: float | str, width: int) -> float:
    """p, or for ``auto`` max(2, 2 ln d), which suits sparse concepts."""
    return sparse_exponent(float(width)) if isinstance(p, str) else float(p)


@kernel
def sparse_exponent(width: float) -> float:
    """The larger of 2 and 2 ln d."""
    return max(2.0, 2.0 * log(width))


@fragment
def image_product(x: Array, given: Any, memory: Any) -> float:
    """The score w'x; w is the image of theta, which is theta itself for `exponent` = 2. Shapes: x f8[d]."""
    if given.exponent == 2.0:
        return dot(memory.theta, x)
    return dot(memory.weight, x)


@fragment
def renew(given: Any, memory: Any) -> None:
    """Recompute the weights from theta; they match theta between rows."""
    if given.exponent != 2.0:
        weights_of(memory.theta, given.exponent, memory.weight)


@fragment
def weights_of(theta: Array, p: float, weight: Array) -> None:
    """Inverse link, w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2); KSW equation 1.

    Shapes: theta f8[d], weight f8[d], written. Computed in units of the largest coordinate; otherwise |theta_i|^p
    would overflow or vanish for a p of 100.
    """
    largest = 0.0
    for j in range(theta.shape[0]):
        largest = max(largest, abs(theta[j]))
    total = 0.0
    for j in range(theta.shape[0]):
        ratio = abs(theta[j]) / largest if largest > 0.0 else 0.0
        weight[j] = power(ratio, p - 1.0)
        total += ratio * weight[j]
    divisor = power(total, (p - 2.0) / p)  # 1 <= total <= d, or 0 for theta = 0
    for j in range(theta.shape[0]):
        weight[j] = math.copysign(largest, theta[j]) * weight[j] / divisor if largest > 0.0 else 0.0


@fragment
def norm_of(theta: Array, p: float) -> float:
    """The p-norm, computed in units of the largest coordinate. Shapes: theta f8[d]."""
    if p == 2.0:
        return euclidean_norm(theta)
    largest = 0.0
    for j in range(theta.shape[0]):
        largest = max(largest, abs(theta[j]))
    total = 0.0
    for j in range(theta.shape[0]):
        total += power(abs(theta[j]) / largest, p) if largest > 0.0 else 0.0
    return largest * power(total, 1.0 / p)
