"""Second-order perceptron (SOP)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.covariance import COLLAPSED, covariance_shape, fill, narrow_diagonal
from learners.state import Fields
from learners.symmetric import downdate, times
from learners.vectors import dot


class SOP(Learner):
    """Second-order perceptron: a perceptron on features whitened by the rows that it got wrong.

    Learns from mistakes only, hence cheaply, and needs no step size.

    With A = aI + sum of x x' over mistakes, Sigma = A^-1, vec = sum of y x over mistakes, k = Sigma x, v = x.k:

    - s = vec' (A + x x')^-1 x = (w.x) / (1 + v), where w = Sigma vec,
    - if y s <= 0: Sigma -= k k' / (1 + v) (diagonal: Sigma^-1 += diag(x x')), vec += y x.

    Parameters
    ----------
    a : float
        Ridge of the start, Sigma = I/a, a > 0, unit of a squared feature. Default 1.0.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to 1/a. 1e-4 on streams that drift; 0 is the
        published algorithm. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    vec : f8[d]                 signed sum of the rows that were mistaken, d with the intercept
    weight : f8[d]              w = Sigma vec, kept up to date
    covariance : f8[d, d]       Sigma, bitwise symmetric; f8[d] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 16 d + 8 bytes. Diagonal: O(d) per row, 24 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Cesa-Bianchi, Conconi and Gentile, SIAM J. Comput. 34, 2005: Sigma changes on mistakes only, as there and unlike
    in some libraries. Differs: drift q and the diagonal form of ALGORITHMS.md 1.12 and 1.13.
    """

    name = "sop"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        a: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        d = self.width
        shape = covariance_shape(self.parameters.cov, d)
        vector = ("f8", (d,))
        return {"vec": vector, "weight": vector, "covariance": ("f8", shape), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        fill(self.state["covariance"], 1.0 / self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, k = self.parameters, self.state, np.empty(self.width)
        run = sop_full if s["covariance"].ndim == 2 else sop_diagonal
        run(rows, y, score, 1.0 / p.a, p.q, s["vec"], s["weight"], s["covariance"], s["skipped"], k)


@bare_kernel
def sop_full(
    rows: Array,
    y: Array,
    score: Array,
    start: float,
    q: float,
    vec: Array,
    weight: Array,
    covariance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then fold the row into both sums if it was mistaken; weight = covariance vec throughout.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], vec f8[d], weight f8[d], covariance f8[d, d], skipped i8[1],
    k f8[d] scratch. A row that would overflow changes nothing.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        plain = dot(weight, x)
        v = times(covariance, x, k)
        s = plain / (1.0 + max(0.0, v))
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s > 0.0):
            share = 1.0 / (1.0 + v)
            step = (label - plain) * share  # the weight's, by Sherman and Morrison
            if COLLAPSED < v < math.inf and step_both(weight, k, step, vec, x, label):
                downdate(covariance, k, share, 1.0)
                # Afresh, because steps add up their rounding; where the product overflows, the step stands.
                if math.isfinite(times(covariance, vec, k)):
                    for j in range(x.shape[0]):
                        weight[j] = k[j]
            else:
                skipped[0] += 1
        if q > 0.0:
            for j in range(x.shape[0]):
                grown = regained(covariance[j, j], q, start, vec[j], weight[j])
                covariance[j, j] += grown
                weight[j] += grown * vec[j]


@bare_kernel
def sop_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    start: float,
    q: float,
    vec: Array,
    weight: Array,
    variance: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """As `sop_full`, keeping the diagonal of the inverse covariance only.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], vec f8[d], weight f8[d], variance f8[d], skipped i8[1],
    k f8[d] scratch.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        for j in range(d):
            k[j] = variance[j] * x[j]
        v = dot(x, k)
        s = dot(weight, x) / (1.0 + v)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        if not (finite and label * s > 0.0):
            if COLLAPSED < v < math.inf and step_both(weight, k, label, vec, x, label):
                narrow_diagonal(variance, x, 1.0)
                for j in range(d):
                    weight[j] = variance[j] * vec[j]
            else:
                skipped[0] += 1
        if q > 0.0:
            for j in range(d):
                grown = regained(variance[j], q, start, vec[j], weight[j])
                variance[j] += grown
                weight[j] += grown * vec[j]


@fragment
def step_both(weight: Array, k: Array, step: float, vec: Array, x: Array, label: float) -> bool:
    """Add step * k to `weight` and label * x to `vec`, both of them or, if either would overflow, nothing; say which.

    Shapes: weight f8[d], k f8[d], vec f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        weighed, summed = weight[j] + step * k[j], vec[j] + label * x[j]
        overflows |= (weighed - weighed != 0.0) | (summed - summed != 0.0)
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * k[j]
        vec[j] += label * x[j]
    return True


@fragment
def regained(variance: float, q: float, start: float, vec: float, weight: float) -> float:
    """What a variance regains by drift: at most q, never beyond its start, nothing if its weight overflowed."""
    grown = min(q, max(0.0, start - variance))
    return grown if math.isfinite(weight + grown * vec) else 0.0
