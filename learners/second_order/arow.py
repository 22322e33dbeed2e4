"""Adaptive regularisation of weights (AROW)."""

import math

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, number
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.linear.weights import product
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    VARIANCE_FLOOR,
    CovarianceParameters,
    Gaussian,
    fill,
    form_of,
    inflate_diagonal,
    inflate_full,
    is_full,
    spread_diagonal,
)


class AROW(Learner):
    """Adaptive regularisation of weights: a Gaussian over weights that narrows with every row it learns.

    Updates whenever the margin is below 1, by an amount that grows with the variance of the row, so rarely
    seen features move fast and label noise moves little.

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Crammer, Kulesza and Dredze, NIPS 2009, figure 1. Differs: drift q and the diagonal form of
    docs/algorithms/conventions.md#drift-of-the-covariance and #full-and-diagonal-covariance.
    """

    name = "arow"
    tasks = ("binary",)

    class Params(CovarianceParameters):
        r: float = number(1.0, "Regularisation, unit of a squared feature. Larger = slower.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        full = is_full(p.cov, self.width)
        learn = learn_full if full else learn_diagonal
        sharing = SharedFields("covariance", adds=p.q == 0.0) if full else None  # drift is not a sum over rows
        return UpdateRule(
            product, learn, p.numbers(), Gaussian, form_of(p.cov, self.width), uses_weight=True, sharing=sharing
        )

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)


@fragment
def learn_full(x: Array, y: float, omega: float, s: float, p: AROW.Params, memory: Gaussian) -> None:
    """Condition the Gaussian on the row having margin 1 with noise r / omega.

    Shapes: x f8[d]. docs/algorithms/second_order.md#arow: scalars, mean, then covariance, with k of before the update.
    """
    finite = math.isfinite(s)
    if not (finite and y * s >= 1.0):
        v = matvec(memory.covariance, x, memory.k)
        beta = 1.0 / (v + p.r / omega)
        alpha = (1.0 - y * s) * beta
        if COLLAPSED < v < math.inf and axpy_guarded(memory.weight, memory.k, alpha * y):
            downdate(memory.covariance, memory.k, beta, 1.0)
        else:
            memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_full(memory.covariance, p.q, p.a)


@fragment
def learn_diagonal(x: Array, y: float, omega: float, s: float, p: AROW.Params, memory: Gaussian) -> None:
    """As `learn_full`, keeping only the diagonal of the inverse covariance (kappa = 1/r).

    See docs/algorithms/conventions.md#full-and-diagonal-covariance.

    Shapes: x f8[d].
    """
    r = p.r / omega
    finite = math.isfinite(s)
    if not (finite and y * s >= 1.0):
        v = spread_diagonal(memory.covariance, x, memory.k)
        alpha = (1.0 - y * s) / (v + r)
        if COLLAPSED < v < math.inf and axpy_guarded(memory.weight, memory.k, alpha * y):
            for j in range(x.shape[0]):
                shrunk = 1.0 / (1.0 / memory.covariance[j] + x[j] * x[j] / r)
                memory.covariance[j] = max(VARIANCE_FLOOR, shrunk)
        else:
            memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_diagonal(memory.covariance, p.q, p.a)
