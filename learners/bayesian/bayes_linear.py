"""Bayesian linear regression on weights that may walk: a Kalman filter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.forgetting.recursion import pin
from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, number
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along


class BayesLinear(Learner):
    """Kalman filter of linear regression: the target is w'x with noise, and w walks at random from row to row.

    Without the walk (q = 0) the posterior of Bayesian linear regression, and the scores of `rls` with
    delta = noise_var / prior_var. With it, follows drift and knows how sure it is: `predictive_variance`.

    With k = P x, S = noise_var + x.k, every row gives

    - w += (y - s) / S k, P -= k k' / S,
    - P_jj += q.

    Parameters
    ----------
    noise_var : float
        Variance of the target's noise, noise_var > 0. Larger = slower. Default 1.0.
    prior_var : float
        Variance of every weight at the start, prior_var > 0. Default 1.0.
    q : float
        Variance that each weight gains per labelled row, q >= 0. 1e-4 to 1e-3 on streams that drift. Default 0.0.
    p_max : float
        Largest variance of a weight, p_max >= 0; 0 = no bound. For q > 0 and features that stay constant for long,
        whose weights nothing holds. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      mean of the weights, d with the intercept
    P : f8[d, d]        covariance of the weights, bitwise symmetric
    skipped : i8[1]     labelled rows whose step was not finite

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or more than two classes.

    Source
    ------
    Kalman 1960; Huang, Online Learning, the linear-Gaussian row of its table of state-space models. ALGORITHMS.md 6.
    Two classes are regressed on as -1 and 1.
    """

    name = "bayes_linear"
    tasks = ("binary", "regression")

    @dataclass(frozen=True)
    class Params(Parameters):
        noise_var: float = number(1.0, above=0.0)
        prior_var: float = number(1.0, above=0.0)
        q: float = number(0.0, at_least=0.0)
        p_max: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        d = self.width
        return {"weight": ("f8", (d,)), "P": ("f8", (d, d)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        np.fill_diagonal(self.state["P"], self.parameters.prior_var)

    def predictive_variance(self, X: Array) -> Array:
        """S of every row: how far, squared, its target is expected to lie from its score. Learns nothing.

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
            The shape, dtype or memory layout is not the stated one.
        """
        self._check(X, (len(X), self.n_features), "X")
        rows = self._prepare(X)
        variance = np.empty(len(rows))
        predict_variance(rows, self.parameters.noise_var, self.state["P"], np.empty(self.width), variance)
        return variance

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        bayes_linear(
            rows,
            y,
            score,
            self.kind == "binary",
            p.noise_var,
            p.q,
            p.p_max or math.inf,
            s["weight"],
            s["P"],
            s["skipped"],
            np.empty(self.width),
        )


@bare_kernel
def predict_variance(rows: Array, noise: float, P: Array, k: Array, variance: Array) -> None:
    """S of every row. Shapes: rows f8[n, d], P f8[d, d], k f8[d] scratch, variance f8[n] written."""
    for t in range(rows.shape[0]):
        variance[t] = noise + times(P, rows[t], k)


@bare_kernel
def bayes_linear(
    rows: Array,
    y: Array,
    score: Array,
    binary: bool,
    noise_var: float,
    q: float,
    p_max: float,
    weight: Array,
    P: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, condition the weights on the target, then let them walk.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], P f8[d, d], skipped i8[1], k f8[d] scratch.
    ALGORITHMS.md 6. `p_max` = inf leaves P unbounded. A row that would overflow teaches nothing; the weights walk on.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        target = 2.0 * y[t] - 1.0 if binary else y[t]
        S = noise_var + times(P, x, k)
        if 0.0 < S < math.inf and step_along(weight, k, (target - s) / S):
            downdate(P, k, 1.0 / S, 1.0)
        else:
            skipped[0] += 1
        if q > 0.0:
            for j in range(weight.shape[0]):
                P[j, j] += q
        if p_max < math.inf:
            for j in range(weight.shape[0]):
                if P[j, j] > p_max:
                    pin(P, j, p_max, k)
