"""Bayesian linear regression whose weights may follow a random walk: a Kalman filter."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    intercept,
    kernel,
    number,
    scratch,
)
from driftway.learners.engine.array_checks import check_array
from driftway.learners.linear.weights import product
from driftway.learners.numeric.symmetric import clamp_diagonal, downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import start_variance


class BayesLinear(Learner):
    """Kalman filter of linear regression: the target is w'x with noise, and w walks at random from row to row.

    Without the walk (q = 0) it is Bayesian linear regression, with the scores of `rls` for
    delta = noise_var / prior_var. With it, it follows drift; `predictive_variance` is its uncertainty.

    With k = P x, S = noise_var + x.k, each row does

    - w += (y - s) / S k, P -= k k' / S,
    - P_jj += q.

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 8 bytes.

    Source
    ------
    Kalman 1960; Huang, Online Learning, the linear-Gaussian row of its table of state-space models.
    docs/algorithms/bayesian.md#bayes_linear. Two classes are regressed as targets -1 and 1.
    """

    name = "bayes_linear"
    tasks = ("binary", "regression")

    class Params(Parameters):
        noise_var: float = number(1.0, "Variance of the target's noise. Larger = slower.", above=0.0)
        prior_var: float = start_variance()
        q: float = number(
            0.0, "Variance that each weight gains per labelled row. 1e-4 to 1e-3 on streams that drift.", at_least=0.0
        )
        p_max: float = number(
            0.0,
            "Largest variance of a weight; 0 = no bound. For q > 0 and features that stay constant for long, which do "
            "not determine their weights.",
            at_least=0.0,
        )
        intercept: bool = intercept()

    def initialise(self) -> None:
        np.fill_diagonal(self.state["P"], self.parameters.prior_var)

    def predictive_variance(self, X: Array) -> Array:
        """Return S of every row, the expected squared distance of its target from its score, without learning.

        Parameters
        ----------
        X : f8[n, d]
            Rows, without the intercept.

        Returns
        -------
        f8[n]
            noise_var + x'P x.

        Raises
        ------
        ValueError
            The shape, dtype or memory layout is wrong.
        """
        check_array(X, (len(X), self.n_features), "X")
        rows = self._prepare(X)
        variance = np.empty(len(rows))
        predict_variance(rows, self.parameters.noise_var, self.state["P"], np.empty(self.width), variance)
        return variance

    def rule(self) -> UpdateRule:
        return UpdateRule(product, learn, self.parameters.numbers(), BayesLinearState, uses_weight=True)


class BayesLinearState(NamedTuple):
    """State of `bayes_linear`."""

    weight: Array = field("f8[d]", "mean of the weights, d with the intercept")
    P: Array = field("f8[d, d]", "covariance of the weights, bitwise symmetric")
    skipped: Counts = field("i8[1]", "labelled rows whose step was not finite")
    k: Array = scratch("f8[d]", "P x")


@kernel
def predict_variance(rows: Array, noise: float, P: Array, k: Array, variance: Array) -> None:
    """Write S of every row. Shapes: rows f8[n, d], P f8[d, d], k f8[d] scratch, variance f8[n] written."""
    for t in range(rows.shape[0]):
        variance[t] = noise + matvec(P, rows[t], k)


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: BayesLinear.Params, memory: BayesLinearState) -> None:
    """Condition the weights on the target, with noise variance noise_var / omega, then apply the random walk.

    Shapes: x f8[d]. docs/algorithms/bayesian.md#bayes_linear. A row that would overflow is skipped, but the walk is
    still applied.
    """
    P, k = memory.P, memory.k
    S = p.noise_var / omega + matvec(P, x, k)
    if 0.0 < S < math.inf and axpy_guarded(memory.weight, k, (y - s) / S):
        downdate(P, k, 1.0 / S, 1.0)
    else:
        memory.skipped[0] += 1
    if p.q > 0.0:
        for j in range(x.shape[0]):
            P[j, j] += p.q
    if p.p_max > 0.0:
        for j in range(x.shape[0]):
            if P[j, j] > p.p_max:
                clamp_diagonal(P, j, p.p_max, k)
