"""The kernels of the confidence-weighted family: CW in both forms, SCW-I and SCW-II.

All four keep a Gaussian N(mu, Sigma) over weights and require that a row be classified correctly with probability eta,
that is, with a margin of at least phi times its standard deviation, phi = Phi^-1(eta). They differ only in the scalar
alpha. In these formulas m is the margin y mu.x, v the variance x'Sigma x of the row, k = Sigma x.
"""

import math
from statistics import NormalDist
from typing import Any, NamedTuple

from driftway.learners.contract import Array, UpdateRule, fragment, number
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.linear.weights import product
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    DIAGONAL,
    FULL,
    CovarianceForm,
    Gaussian,
    form_of,
    is_full,
)


class ConfidenceWeightedNumbers(NamedTuple):
    """Parameters of the family."""

    rule: int
    """Formula of alpha: `VARIANCE`, `DEVIATION`, `SOFT` or `SOFT_SQUARED`."""
    phi: float
    C: float
    a: float
    q: float


VARIANCE, DEVIATION, SOFT, SOFT_SQUARED = range(4)
"""Formula of alpha. It is an argument, because four kernels would have to be compiled instead of one."""


def probability(default: float) -> Any:
    """The parameter eta."""
    return number(default, "Probability with which the Gaussian must classify a row correctly.", above=0.5, below=1.0)


def deviations(eta: float) -> float:
    """phi: the number of standard deviations by which the margin must exceed 0 to be right with probability `eta`."""
    return NormalDist().inv_cdf(eta)


@fragment
def required(rule: int, v: float, phi: float) -> float:
    """The margin required of a row of variance v: phi v if the constraint is linearised, else phi sqrt(v)."""
    return phi * v if rule == VARIANCE else phi * math.sqrt(v)


@fragment
def step_size(rule: int, m: float, v: float, phi: float, C: float) -> float:
    """Alpha > 0 of a row whose margin m is too small; inf or nan on overflow."""
    if rule == VARIANCE:
        return alpha_variance(m, v, phi)
    if rule == SOFT_SQUARED:
        return alpha_squared(m, v, phi, C)
    alpha = alpha_deviation(m, v, phi)
    return min(C, alpha) if rule == SOFT else alpha


@fragment
def alpha_variance(m: float, v: float, phi: float) -> float:
    """The larger root gamma of 2 phi v gamma^2 + (1 + 2 phi m) gamma + (m - phi v) / v = 0. `cw`.

    The radicand is written as a sum of squares: (1 + 2 phi m)^2 - 8 phi (m - phi v) rounds to below 0.
    """
    b = 1.0 + 2.0 * phi * m
    apart = 1.0 - 2.0 * phi * m
    root = math.sqrt(apart * apart + 8.0 * phi * phi * v)
    if b > 0.0:
        return 2.0 * (phi * v - m) / (v * (b + root))  # the same root without cancellation
    return (root - b) / (4.0 * phi * v)


@fragment
def alpha_deviation(m: float, v: float, phi: float) -> float:
    """Multiplier of y mu.x >= phi sqrt(x'Sigma x), exact. Crammer, Dredze and Pereira 2008."""
    phi2 = phi * phi
    psi, xi = 1.0 + phi2 / 2.0, 1.0 + phi2
    root = math.sqrt(m * m * phi2 * phi2 / 4.0 + v * phi2 * xi)
    if m > 0.0:
        # The same without cancellation, by psi^2 - phi^4 / 4 = xi.
        deviation = phi * math.sqrt(v)
        return (deviation - m) * (deviation + m) / (v * (m * psi + root))
    return (root - m * psi) / (v * xi)


@fragment
def alpha_squared(m: float, v: float, phi: float, C: float) -> float:
    """Alpha of SCW-II, whose slack is squared. Wang, Zhao and Hoi 2012, proposition 2."""
    phi2 = phi * phi
    n = v + 1.0 / (2.0 * C)
    p = m * (2.0 * n + phi2 * v)
    gamma = phi * math.sqrt(phi2 * m * m * v * v + 4.0 * n * v * (n + v * phi2))
    if m > 0.0:
        # The same without cancellation, by gamma^2 - p^2 = 4 n (n + v phi^2) (v phi^2 - m^2).
        deviation = phi * math.sqrt(v)
        return 2.0 * (deviation - m) * (deviation + m) / (gamma + p)
    return (gamma - p) / (2.0 * n * (n + v * phi2))


@fragment
def precision_gain(rule: int, alpha: float, v: float, phi: float) -> float:
    """kappa, where the inverse covariance gains kappa x x': 2 alpha phi for `cw`, else alpha phi / sqrt(u)."""
    if rule == VARIANCE:
        return 2.0 * alpha * phi
    h = alpha * v * phi
    root_u = 2.0 * v / (h + math.sqrt(h * h + 4.0 * v))  # u = x'Sigma x afterwards; (-h + sqrt) / 2 would cancel
    return alpha * phi / root_u


def learn_confidently(form: CovarianceForm) -> Fragment:
    """The `learn` of a learner whose covariance has this form."""
    spread, shrink, inflate = form

    @fragment
    def learn(x: Array, y: float, _omega: float, s: float, p: ConfidenceWeightedNumbers, memory: Gaussian) -> None:
        """Move the Gaussian only as far as needed to be confident of the row's label.

        Shapes: x f8[d]. docs/algorithms/second_order.md#second-order-learners, steps 1 to 5; a row that would overflow
        changes nothing.
        """
        m = y * s
        v = spread(memory.covariance, x, memory.k)  # step 1
        if not (math.isfinite(s) and COLLAPSED < v < math.inf):
            memory.skipped[0] += 1
        elif m < required(p.rule, v, p.phi):  # step 2
            alpha = step_size(p.rule, m, v, p.phi, p.C)  # step 3
            kappa = precision_gain(p.rule, alpha, v, p.phi)
            beta = kappa / (1.0 + kappa * v)
            if kappa < math.inf and axpy_guarded(memory.weight, memory.k, alpha * y):  # step 4
                shrink(memory.covariance, x, memory.k, beta, kappa)  # step 5
            else:
                memory.skipped[0] += 1
        if p.q > 0.0:
            inflate(memory.covariance, p.q, p.a)

    return learn


learn_full, learn_diagonal = learn_confidently(FULL), learn_confidently(DIAGONAL)


def confidence_rule(rule: int, C: float, p: Any, width: int) -> UpdateRule:
    """The rule of a learner whose parameters p have a, eta, cov and q."""
    learn = learn_full if is_full(p.cov, width) else learn_diagonal
    given = ConfidenceWeightedNumbers(rule, deviations(p.eta), C, p.a, p.q)
    return UpdateRule(product, learn, given, Gaussian, form_of(p.cov, width))
