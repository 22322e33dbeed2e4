"""Common part of the family: a loss on margins that are not close to 1, and one step of online ODM on it.

Each learner minimises f(w) = |w|^2 / 2 + lam l(w; x). l is 0 for margins between 1 - theta and 1 + theta, the squared
distance for margins below and mu <= 1 times it for margins above, in units of (1 - theta)^2.
docs/algorithms/margin_distribution.md#the-loss. Parameters p have `mu` and `theta`.
"""

from typing import Any

from driftway.learners.contract import Array, Parameters, fragment, intercept, number
from driftway.learners.numeric.vectors import scale_and_axpy


class MarginLoss(Parameters):
    """Parameters shared by the family: those of f, and the intercept."""

    lam: float = number(3.0, "Weight of the loss relative to |w|^2 / 2.", above=0.0)
    mu: float = number(
        0.5, "Cost of a margin that is too large; one that is too small costs 1.", above=0.0, at_most=1.0
    )
    theta: float = number(0.3, "Distance from 1 within which margins cost nothing.", at_least=0.0, below=1.0)
    intercept: bool = intercept()


@fragment
def odm_loss(margin: float, p: Any) -> float:
    """The loss l as a function of the margin y w'x."""
    short = max(0.0, 1.0 - p.theta - margin)
    beyond = max(0.0, margin - 1.0 - p.theta)
    return (short * short + p.mu * beyond * beyond) / ((1.0 - p.theta) * (1.0 - p.theta))


@fragment
def odm_slope(margin: float, p: Any) -> float:
    """Derivative of l with respect to the margin; the gradient with respect to w is slope * y * x."""
    short = max(0.0, 1.0 - p.theta - margin)
    beyond = max(0.0, margin - 1.0 - p.theta)
    return 2.0 * (p.mu * beyond - short) / ((1.0 - p.theta) * (1.0 - p.theta))


@fragment
def longest_safe_step(x2: float, lam: float, theta: float) -> float:
    """1 / H, with H the curvature of f along x and x2 = x'x: steps up to it never raise f, those from 2 / H on diverge.

    0 if H overflows. For mu <= 1 the side above the tube is not the steeper one.
    """
    return 1.0 / (1.0 + 2.0 * lam * x2 / ((1.0 - theta) * (1.0 - theta)))


@fragment
def odm_step(weight: Array, x: Array, y: float, s: float, eta: float, safe: bool, lam: float, p: Any) -> bool:
    """Algorithm 1, line 6: w <- (1 - eta) w - eta lam grad l(w; x), s = w'x; return false without a change on overflow.

    Shapes: weight f8[d], x f8[d]. The paper prints + before the gradient; its derivation has the minus. A `safe` step
    never overflows: it ends nearer to the row's own best weights, whose norm is at most sqrt(2 lam).
    """
    keep, pull = 1.0 - eta, -eta * lam * odm_slope(y * s, p) * y
    if not safe:
        return scale_and_axpy(weight, keep, x, pull)
    if eta > 0.0:
        for j in range(x.shape[0]):
            weight[j] = keep * weight[j] + pull * x[j]
    return eta > 0.0
