"""Adaptive-regularised cost-sensitive online gradient descent (ACOG)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.cost_sensitive.imbalance import OBJECTIVES, imbalance, prices
from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.covariance import (
    COLLAPSED,
    covariance_shape,
    fill,
    inflate_diagonal,
    inflate_full,
    narrow_diagonal,
)
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot, step_along


class ACOG(Learner):
    """Cost-sensitive gradient descent whose step is shaped by a covariance: small in directions often seen.

    Chooses among mistakes as `csogd1` (loss I) or `csogd2` (loss II) does and needs fewer rows. With k = Sigma x,
    v = x.k and rho_t as there, a row with y s < rho_t (I: c = 1) or y s < 1 (II: c = rho_t) gives

    - mu <- mu + eta c y k gamma / (gamma + v), where k gamma / (gamma + v) = Sigma x with the Sigma to come,
    - Sigma <- Sigma - k k' / (gamma + v) (diagonal: Sigma^-1 += diag(x x') / gamma).

    Parameters
    ----------
    loss : str
        ``I``: the weightier class needs a larger margin. ``II``: it takes larger steps. Default ``II``.
    eta : float
        Step size, eta > 0. Default 1.0.
    gamma : float
        Regularisation, gamma > 0, unit of a squared feature. Larger = the covariance narrows slower. Default 10.0.
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to `a`. 1e-4 on streams that drift; 0, the
        published algorithm, freezes. Default 0.0.
    objective : str
        ``sum``: maximise eta_p sensitivity + eta_n specificity. ``cost``: minimise the cost of mistakes.
        Default ``sum``.
    eta_p : float
        Weight of the sensitivity, eta_p > 0; for ``sum``. Default 0.5.
    eta_n : float
        Weight of the specificity, eta_n > 0; only the ratio of both matters. Default 0.5.
    c_p : float
        Cost of a missed row of class 1, c_p > 0; for ``cost``. Default 0.95.
    c_n : float
        Cost of a false alarm, c_n > 0; only the ratio of both matters. Default 0.05.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]              mean mu of the weights, d with the intercept
    covariance : f8[d, d]       Sigma of the weights, bitwise symmetric; f8[d] in the diagonal form
    classes : i8[2]             labelled rows of class 0 and of class 1, plus 1
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 24 bytes. Diagonal: O(d) per row, 16 d + 24 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Zhao, Zhuang, Wu, Li and Hoi, ICDM 2015; Huang, Online Learning, "Applications". ALGORITHMS.md 14. Differs: the
    classes are counted as they come, from 1; drift q of 1.12; the diagonal form takes the step of the full one.
    """

    name = "acog"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        loss: str = choice("II", ("I", "II"))
        eta: float = number(1.0, above=0.0)
        gamma: float = number(10.0, above=0.0)
        a: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        q: float = number(0.0, at_least=0.0)
        objective: str = choice("sum", OBJECTIVES)
        eta_p: float = number(0.5, above=0.0)
        eta_n: float = number(0.5, above=0.0)
        c_p: float = number(0.95, above=0.0)
        c_n: float = number(0.05, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {
            "weight": ("f8", (self.width,)),
            "covariance": ("f8", covariance_shape(self.parameters.cov, self.width)),
            "classes": ("i8", (2,)),
            "skipped": ("i8", (1,)),
        }

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)
        self.state["classes"][:] = 1

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, k = self.parameters, self.state, np.empty(self.width)
        run = acog_full if s["covariance"].ndim == 2 else acog_diagonal
        views = s["weight"], s["covariance"], s["classes"], s["skipped"]
        run(rows, y, score, p.loss == "II", p.eta, p.gamma, p.a, p.q, *prices(p), *views, k)


@bare_kernel
def acog_full(
    rows: Array,
    y: Array,
    score: Array,
    steeper: bool,
    eta: float,
    gamma: float,
    a: float,
    q: float,
    price_p: float,
    price_n: float,
    shared: bool,
    weight: Array,
    covariance: Array,
    classes: NDArray[np.int64],
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then step along the row as the covariance is about to see it, and narrow the covariance by the row.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], covariance f8[d, d], classes i8[2], skipped i8[1],
    k f8[d] scratch. ALGORITHMS.md 14.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        classes[int(y[t])] += 1
        rho = imbalance(price_p, price_n, shared, classes) if label > 0.0 else 1.0
        if not (finite and label * s >= (1.0 if steeper else rho)):
            v = times(covariance, x, k)
            step = eta * (rho if steeper else 1.0) * gamma / (gamma + v)
            if COLLAPSED < v < math.inf and step_along(weight, k, step * label):
                downdate(covariance, k, 1.0 / (gamma + v), 1.0)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_full(covariance, q, a)


@bare_kernel
def acog_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    steeper: bool,
    eta: float,
    gamma: float,
    a: float,
    q: float,
    price_p: float,
    price_n: float,
    shared: bool,
    weight: Array,
    variance: Array,
    classes: NDArray[np.int64],
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `acog_full`, with its step, keeping the diagonal of the inverse covariance only (1.13, kappa = 1/gamma).

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], variance f8[d], classes i8[2], skipped i8[1],
    k f8[d] scratch.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        classes[int(y[t])] += 1
        rho = imbalance(price_p, price_n, shared, classes) if label > 0.0 else 1.0
        if not (finite and label * s >= (1.0 if steeper else rho)):
            for j in range(x.shape[0]):
                k[j] = variance[j] * x[j]
            v = dot(x, k)
            step = eta * (rho if steeper else 1.0) * gamma / (gamma + v)
            if COLLAPSED < v < math.inf and step_along(weight, k, step * label):
                narrow_diagonal(variance, x, 1.0 / gamma)
            else:
                skipped[0] += 1
        if q > 0.0:
            inflate_diagonal(variance, q, a)
