"""Least squares whose forgetting factor varies from row to row (G-DFOP)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.drift.ddm import ALARM, DRIFT, FIELDS, MIN_ROWS, WARN, ddm
from learners.forgetting.recursion import absorb
from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import ParameterError, Parameters, TooNarrow, choice, flag, integer, number
from learners.state import Fields
from learners.symmetric import times
from learners.vectors import dot

SOURCES = ("const", "harmonic", "field", "detector", "fortescue")
CONST, HARMONIC, FIELD, DETECTOR, FORTESCUE = range(5)

LEAST = 1e-6
"""Smallest lambda taken from a column: P grows by 1 / lambda, and the wind-up guard loses as many digits."""

SLOWEST = 1e-3
"""Rate at which `fortescue` follows the variance of the errors once 1000 rows have been seen."""


class GDFOP(Learner):
    """Distribution-free one-pass learning with a forgetting factor lambda(t) that may change at every row.

    Least squares in which row i weighs lambda(i+1) ... lambda(t). ``const`` is `dfop`, bit for bit; ``harmonic`` begins
    with a short memory that grows to 1/mu rows; ``field`` reads lambda from a column of the rows; ``detector`` forgets
    faster for a while after an alarm; ``fortescue`` forgets as much as the row's error is a surprise.

    Parameters
    ----------
    lambda_source : str
        ``const``, ``harmonic``, ``field``, ``detector`` (classes only) or ``fortescue``. Default ``const``.
    mu : float
        Forgetting factor 1 - lambda where nothing else is said, its least value under ``harmonic``; 0 <= mu < 1.
        Default 0.005.
    column : int
        ``field``: which feature is lambda instead of a feature, 0 <= column < n_features; no feature is
        standardised then. Default 0.
    detector : str
        ``detector``: ``ddm``. Default ``ddm``.
    mu_high : float
        ``detector``: mu after an alarm, 0 <= mu_high < 1; at most 1/d, or the weights are lost. Default 0.05.
    boost_len : int
        ``detector``: labelled rows that mu_high lasts, boost_len >= 1. Default 100.
    N0 : float
        ``fortescue``: rows of memory, about, N0 >= 1. Default 200.0.
    lambda_min : float
        ``fortescue``: least lambda, 1e-6 <= lambda_min <= 1. Default 0.9.
    delta : float
        Ridge of the start, P = I/delta, delta > 0. Default 1.0.
    p_max : float
        Wind-up guard: largest diagonal entry of P, p_max > 0. Default 1e4.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      least-squares weights, d with the intercept and without a ``field``
    P : f8[d, d]        inverse of the discounted second-moment matrix, bitwise symmetric
    learned : i8[1]     t, labelled rows
    variance : f8[1]    ``fortescue``: running variance of the errors
    boosted : i8[1]     ``detector``: rows of mu_high that are still to come
    alarms : i8[1]      ``detector``: drifts so far
    ddm.rows : i8[1]    rows since the last drift
    ddm.rate : f8[1]    their error rate
    ddm.least : f8[2]   rate and deviation where their sum was least
    skipped : i8[1]     labelled rows whose step was not finite, or whose ``field`` was not in (0, 1]

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 72 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, more than two classes, or ``detector`` in regression.

    Source
    ------
    Zhao and Zhou, Distribution-Free One-Pass Learning, Algorithm 2; ``fortescue`` after Fortescue, Kershenbaum and
    Ydstie, Automatica 1981 (ALGORITHMS.md 11). Differs: predicts before the update, mirrors P, guards against wind-up,
    takes a ``field`` below 1e-6 for 1e-6, one that is not in (0, 1] for 1 - mu.
    """

    name = "g_dfop"
    tasks = ("binary", "regression")

    @dataclass(frozen=True)
    class Params(Parameters):
        lambda_source: str = choice("const", SOURCES)
        mu: float = number(0.005, at_least=0.0, below=1.0)
        column: int = integer(0, at_least=0)
        detector: str = choice("ddm", ("ddm",))
        mu_high: float = number(0.05, at_least=0.0, below=1.0)
        boost_len: int = integer(100, at_least=1)
        N0: float = number(200.0, at_least=1.0)
        lambda_min: float = number(0.9, at_least=LEAST, at_most=1.0)
        delta: float = number(1.0, above=0.0)
        p_max: float = number(1e4, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        p = self.parameters
        if p.lambda_source == "field" and p.column >= self.n_features:
            message = f"column must be < {self.n_features}, the number of features, got {p.column}"
            raise TooNarrow(message, p.column + 1)
        if p.lambda_source == "detector" and self.kind == "regression":
            raise ParameterError("lambda_source=detector needs classes: in regression there are no mistakes to count")
        d = self.width - (p.lambda_source == "field")
        return {
            "weight": ("f8", (d,)),
            "P": ("f8", (d, d)),
            "learned": ("i8", (1,)),
            "variance": ("f8", (1,)),
            "boosted": ("i8", (1,)),
            "alarms": ("i8", (1,)),
            **FIELDS,
            "skipped": ("i8", (1,)),
        }

    def initialise(self) -> None:
        self.standardizable = self.parameters.lambda_source != "field"
        np.fill_diagonal(self.state["P"], 1.0 / self.parameters.delta)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        given = np.empty(0)
        if p.lambda_source == "field":
            given = rows[:, p.column].copy()
            rows = np.delete(rows, p.column, axis=1)
        variable_least_squares(
            rows,
            given,
            y,
            score,
            self.kind == "binary",
            SOURCES.index(p.lambda_source),
            p.mu,
            p.mu_high,
            p.boost_len,
            p.N0,
            p.lambda_min,
            p.p_max,
            s["weight"],
            s["P"],
            s["learned"],
            s["variance"],
            s["boosted"],
            s["alarms"],
            s["ddm.rows"],
            s["ddm.rate"],
            s["ddm.least"],
            s["skipped"],
            np.empty(len(s["weight"])),
        )


@bare_kernel
def variable_least_squares(
    rows: Array,
    given: Array,
    y: Array,
    score: Array,
    binary: bool,
    source: int,
    mu: float,
    mu_high: float,
    boost_len: int,
    N0: float,
    lambda_min: float,
    p_max: float,
    weight: Array,
    P: Array,
    learned: NDArray[np.int64],
    variance: Array,
    boosted: NDArray[np.int64],
    alarms: NDArray[np.int64],
    ddm_rows: NDArray[np.int64],
    ddm_rate: Array,
    ddm_least: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, choose lambda by what the row shows, fold the row in, then show the detector whether it was right.

    Shapes: rows f8[n, d], given f8[n] for FIELD and else f8[0], y f8[n], score f8[n, 1], weight f8[d], P f8[d, d],
    learned i8[1], variance f8[1], boosted i8[1], alarms i8[1], ddm_rows i8[1], ddm_rate f8[1], ddm_least f8[2],
    skipped i8[1], k f8[d] scratch. ALGORITHMS.md 11. A row that would overflow counts for t and the detector only.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        shown = s if math.isfinite(s) else 0.0
        score[t, 0] = shown
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        error = (2.0 * y[t] - 1.0 if binary else y[t]) - s
        v = times(P, x, k)
        forgetting, spread, usable = 1.0 - mu, variance[0], True
        if source == HARMONIC:
            forgetting = 1.0 - max(mu, 1.0 / (learned[0] + 1.0))
        elif source == FIELD:
            usable = 0.0 < given[t] <= 1.0
            if usable:
                forgetting = max(given[t], LEAST)
        elif source == DETECTOR and boosted[0] > 0:
            forgetting = 1.0 - mu_high
            boosted[0] -= 1
        elif source == FORTESCUE:
            spread = follow(spread, error * error, max(1.0 / learned[0], SLOWEST))
            forgetting = surprise(error * error, v, spread, N0, lambda_min)
        absorbed = absorb(weight, P, k, v, error, forgetting, p_max)
        if absorbed:
            variance[0] = spread
        if not (absorbed and usable):
            skipped[0] += 1
        if source == DETECTOR:
            wrong = 1.0 if (shown >= 0.0) != (y[t] > 0.0) else 0.0
            if ddm(wrong, MIN_ROWS, WARN, ALARM, ddm_rows, ddm_rate, ddm_least) == DRIFT:
                boosted[0] = boost_len
                alarms[0] += 1


@fragment
def follow(variance: float, squared: float, rate: float) -> float:
    """The running variance after an error; one whose square overflows leaves it."""
    moved = variance + (squared - variance) * rate
    return moved if math.isfinite(moved) else variance


@fragment
def surprise(squared: float, v: float, variance: float, N0: float, lambda_min: float) -> float:
    """Lambda by Fortescue's rule: 1 less the error's share of what N0 errors hold, and 1 where no row has erred."""
    if variance == 0.0:
        return 1.0
    return min(max(1.0 - squared / ((1.0 + v) * N0 * variance), lambda_min), 1.0)
