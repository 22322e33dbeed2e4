"""Normal herding (NHERD)."""

import math

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, number
from driftway.learners.linear.weights import product
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    CovarianceParameters,
    Gaussian,
    fill,
    form_of,
    inflate_diagonal,
    inflate_full,
    is_full,
    narrow_diagonal,
    spread_diagonal,
)


class NHERD(Learner):
    """Normal herding: moves a whole cloud of weights by PA-II and keeps the Gaussian that fits it best.

    As `arow`, but the covariance shrinks as fast as the cloud contracts, about twice as fast.

    With k = Sigma x, v = x.k, m = y mu.x, a row with m < 1 gives

    - mu += (1 - m) / (v + 1/C) y k,
    - full: Sigma -= (C^2 v + 2 C) / (1 + C v)^2 k k',
    - diagonal: Sigma^-1 += (2 C + C^2 v) diag(x x').

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Crammer and Lee, NIPS 2010, full and "project" forms. Differs: drift q of
    docs/algorithms/conventions.md#drift-of-the-covariance.
    """

    name = "nherd"
    tasks = ("binary",)

    class Params(CovarianceParameters):
        C: float = number(0.1, "Trust in one row, as 1/r of `arow`. Larger = faster.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        learn = learn_full if is_full(p.cov, self.width) else learn_diagonal
        return UpdateRule(product, learn, p.numbers(), Gaussian, form_of(p.cov, self.width))

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)


@fragment
def pull(v: float, C: float) -> float:
    """C / (1 + C v), the step of the mean along k = Sigma x per unit of missing margin."""
    return C * (1.0 / (1.0 + C * v))


@fragment
def herded_shrinkage(v: float, C: float) -> float:
    """(C^2 v + 2 C) / (1 + C v)^2, the share of k k' by which the full form shrinks.

    Computed with 1 / (1 + C v) as a factor, since its square overflows for a row of 1e80.
    """
    left = 1.0 / (1.0 + C * v)
    return (C + C * left) * left


@fragment
def herded_gain(v: float, C: float) -> float:
    """Kappa = 2 C + C^2 v, where the inverse of the diagonal form gains kappa x x'."""
    return 2.0 * C + C * (C * v)


@fragment
def learn_full(x: Array, y: float, _omega: float, s: float, p: NHERD.Params, memory: Gaussian) -> None:
    """Move the cloud towards margin 1 on the row. Shapes: x f8[d]. docs/algorithms/second_order.md#nherd."""
    if not (math.isfinite(s) and y * s >= 1.0):
        v = matvec(memory.covariance, x, memory.k)
        alpha = (1.0 - y * s) * pull(v, p.C)
        share = herded_shrinkage(v, p.C)
        if COLLAPSED < v < math.inf and share > 0.0 and axpy_guarded(memory.weight, memory.k, alpha * y):
            downdate(memory.covariance, memory.k, share, 1.0)
        else:
            memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_full(memory.covariance, p.q, p.a)


@fragment
def learn_diagonal(x: Array, y: float, _omega: float, s: float, p: NHERD.Params, memory: Gaussian) -> None:
    """As `learn_full`, keeping only the diagonal of the inverse covariance. Shapes: x f8[d]."""
    if not (math.isfinite(s) and y * s >= 1.0):
        v = spread_diagonal(memory.covariance, x, memory.k)
        alpha = (1.0 - y * s) / (v + 1.0 / p.C)
        kappa = herded_gain(v, p.C)
        if COLLAPSED < v < math.inf and kappa < math.inf and axpy_guarded(memory.weight, memory.k, alpha * y):
            narrow_diagonal(memory.covariance, x, kappa)
        else:
            memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_diagonal(memory.covariance, p.q, p.a)
