"""Online Bayesian probit regression by assumed-density filtering."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.elementary.error_function import erfc
from learners.elementary.exponential import exp
from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.covariance import (
    COLLAPSED,
    VARIANCE_FLOOR,
    fill,
    gaussian_fields,
    inflate_diagonal,
    inflate_full,
)
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along

DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)
FAR = -30.0
"""Below this V is -u - 1/u to 3e-6 and W is 1 to 2e-3; Phi underflows at -38 and V + u has lost all digits at -1e8."""


class BayesProbit(Learner):
    """Bayesian probit regression: after each row, the Gaussian with the mean and covariance of the true posterior.

    Every row teaches, by how surprising its label was and how unsure the weights are; there is no step size to tune.
    The score s is a standard normal quantile: class 1 has probability Phi(s).

    With k = Sigma x, v = x.k, Xi^2 = beta^2 + v, s = mu.x / Xi, u = y s, V = phi(u) / Phi(u), W = V (V + u),

    - mu += y V / Xi k,
    - Sigma -= W / Xi^2 k k' (diagonal: its diagonal),
    - Sigma_jj += q, up to prior_var.

    Parameters
    ----------
    beta : float
        Deviation of the probit noise, beta > 0. Larger = slower. Default 1.0.
    prior_var : float
        Variance of every weight at the start, prior_var > 0. Default 1.0.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to `prior_var`. 1e-3 on streams that drift fast; 0
        freezes. Default 1e-4.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]              mean mu of the weights, d with the intercept
    covariance : f8[d, d]       Sigma of the weights, bitwise symmetric; f8[d] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Opper and Winther, On-line Learning in Neural Networks, 1998; the diagonal form is AdPredictor, Graepel et al.,
    ICML 2010, section 3. Huang, Online Learning, "Online Bayesian Probit Regression". ALGORITHMS.md 6 and 1.12.
    """

    name = "bayes_probit"
    tasks = ("binary",)
    link = "probit"

    @dataclass(frozen=True)
    class Params(Parameters):
        beta: float = number(1.0, above=0.0)
        prior_var: float = number(1.0, above=0.0)
        q: float = number(1e-4, at_least=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return gaussian_fields(self.parameters.cov, self.width)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.prior_var)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, k = self.parameters, self.state, np.empty(self.width)
        run = bayes_probit_full if s["covariance"].ndim == 2 else bayes_probit_diagonal
        run(rows, y, score, p.beta * p.beta, p.prior_var, p.q, s["weight"], s["covariance"], s["skipped"], k)


@bare_kernel
def bayes_probit_full(
    rows: Array,
    y: Array,
    score: Array,
    noise: float,
    start: float,
    q: float,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then match the mean and covariance of the posterior; `noise` is beta^2.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 6. A row that would overflow changes nothing.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        v = times(covariance, x, k)
        spread = math.sqrt(noise + max(0.0, v))
        s = dot(weight, x) / spread
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        u = label * s
        V = surprise(u)
        if finite and COLLAPSED < v < math.inf and step_along(weight, k, label * V / spread):
            downdate(covariance, k, narrowing(u, V) / (noise + v), 1.0)
        else:
            skipped[0] += 1
        if q > 0.0:
            inflate_full(covariance, q, start)


@bare_kernel
def bayes_probit_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    noise: float,
    start: float,
    q: float,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `bayes_probit_full`, keeping the posterior's variances only.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], variance f8[d], skipped i8[1], k f8[d] scratch.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        for j in range(d):
            k[j] = variance[j] * x[j]
        v = dot(x, k)
        spread = math.sqrt(noise + v)
        s = dot(weight, x) / spread
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        u = label * s
        V = surprise(u)
        if finite and COLLAPSED < v < math.inf and step_along(weight, k, label * V / spread):
            share = narrowing(u, V) / (noise + v)
            for j in range(d):
                variance[j] = max(VARIANCE_FLOOR, variance[j] * (1.0 - share * (k[j] * x[j])))
        else:
            skipped[0] += 1
        if q > 0.0:
            inflate_diagonal(variance, q, start)


@fragment
def surprise(u: float) -> float:
    """V(u) = phi(u) / Phi(u): how far the mean moves, in deviations of the latent score."""
    if u < FAR:
        return -u - 1.0 / u
    return DENSITY_AT_0 * exp(-0.5 * u * u) / (0.5 * erfc(-u * math.sqrt(0.5)))


@fragment
def narrowing(u: float, V: float) -> float:
    """W(u) = V (V + u), the share of the latent score's variance that the label took away; within [0, 1]."""
    if u < FAR:
        return 1.0
    return min(1.0, max(0.0, V * (V + u)))
