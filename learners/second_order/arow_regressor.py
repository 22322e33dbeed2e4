"""Adaptive regularisation of weights for regression."""

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


class AROWRegressor(Learner):
    """Adaptive regularisation of weights, with the target in place of the margin: every row teaches.

    Without drift and in the full form this is `rls` with delta = r/a. With drift it keeps adapting, and its
    diagonal form handles rows of thousands of columns.

    With k = Sigma x, v = x.k, s = mu.x, every row gives

    - mu += (y - s) / (v + r) k,
    - Sigma -= k k' / (v + r) (diagonal: Sigma^-1 += diag(x x') / r).

    Cost
    ----
    Full: O(d^2) per labelled row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    docs/algorithms/second_order.md#arow_regressor, after Crammer, Kulesza and Dredze, NIPS 2009. Differs: drift q and
    the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and #full-and-diagonal-covariance. Two
    classes are targets -1 and 1, as for `rls`.
    """

    name = "arow_regressor"
    tasks = ("binary", "regression")

    class Params(CovarianceParameters):
        r: float = number(1.0, "Variance of the noise. Larger = slower.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        learn = learn_full if is_full(p.cov, self.width) else learn_diagonal
        return UpdateRule(product, learn, p.numbers(), Gaussian, form_of(p.cov, self.width), uses_weight=True)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)


@fragment
def learn_full(x: Array, y: float, omega: float, s: float, p: AROWRegressor.Params, memory: Gaussian) -> None:
    """Condition the Gaussian on the target, observed with noise r / omega.

    Shapes: x f8[d]. docs/algorithms/second_order.md#arow, with (y - s) for (1 - m) y and without the test.
    """
    v = matvec(memory.covariance, x, memory.k)
    beta = 1.0 / (v + p.r / omega)
    if COLLAPSED < v < math.inf and axpy_guarded(memory.weight, memory.k, (y - s) * beta):
        downdate(memory.covariance, memory.k, beta, 1.0)
    else:
        memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_full(memory.covariance, p.q, p.a)


@fragment
def learn_diagonal(x: Array, y: float, omega: float, s: float, p: AROWRegressor.Params, memory: Gaussian) -> None:
    """As `learn_full`, keeping only the diagonal of the inverse covariance. Shapes: x f8[d]."""
    r = p.r / omega
    v = spread_diagonal(memory.covariance, x, memory.k)
    if COLLAPSED < v < math.inf and axpy_guarded(memory.weight, memory.k, (y - s) / (v + r)):
        narrow_diagonal(memory.covariance, x, 1.0 / r)
    else:
        memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_diagonal(memory.covariance, p.q, p.a)
