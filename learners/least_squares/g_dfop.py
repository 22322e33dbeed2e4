"""Least squares whose forgetting factor varies from row to row (G-DFOP)."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    field,
    fragment,
    integer,
    intercept,
    number,
    part,
    scratch,
)
from driftway.learners.drift.ddm import DDM, DDMState, detect
from driftway.learners.drift.detector import DRIFT
from driftway.learners.engine.parameters import TooFewFeatures
from driftway.learners.least_squares.recursion import absorb
from driftway.learners.linear.weights import product
from driftway.learners.numeric.fading_mean import newest_share
from driftway.learners.numeric.symmetric import matvec
from driftway.learners.numeric.vectors import dot

SOURCES = ("const", "harmonic", "field", "detector", "fortescue")
CONST, HARMONIC, FIELD, DETECTOR, FORTESCUE = range(5)

LEAST = 1e-6
"""Smallest lambda taken from a column: P grows by 1 / lambda, and the wind-up guard loses digits accordingly."""

SLOWEST = 1e-3
"""Rate at which `fortescue` tracks the variance of the errors after 1000 rows."""


class GDFOP(Learner):
    """Distribution-free one-pass learning with a forgetting factor lambda(t) that may change at every row.

    Least squares in which row i weighs lambda(i+1) ... lambda(t). ``const`` is `dfop`, bit for bit; ``harmonic`` starts
    with a short memory that grows to 1/mu rows; ``field`` reads lambda from a column of the rows; ``detector`` forgets
    faster for a while after an alarm; ``fortescue`` forgets more the more surprising the row's error is.

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 72 bytes.

    Source
    ------
    Zhao and Zhou, Distribution-Free One-Pass Learning, Algorithm 2; ``fortescue`` after Fortescue, Kershenbaum and
    Ydstie, Automatica 1981 (docs/algorithms/least_squares.md#g_dfop). Differs: predicts before the update, mirrors P,
    guards against wind-up, raises a ``field`` below 1e-6 to 1e-6, and uses 1 - mu for one outside (0, 1].
    """

    name = "g_dfop"
    tasks = ("binary", "regression")

    class Params(Parameters):
        lambda_source: str = choice(
            "const", SOURCES, "`const`, `harmonic`, `field`, `detector` (classes only) or `fortescue`."
        )
        mu: float = number(
            0.005,
            "Forgetting factor 1 - lambda unless another source sets it, its least value under `harmonic`.",
            at_least=0.0,
            below=1.0,
        )
        column: int = integer(
            0,
            "`field`: column that is lambda instead of a feature, 0 <= column < n_features; no feature is standardised "
            "then.",
            at_least=0,
        )
        detector: str = choice("ddm", ("ddm",), "`detector`: `ddm`.")
        mu_high: float = number(
            0.05, "`detector`: mu after an alarm; at most 1/d, or the weights are lost.", at_least=0.0, below=1.0
        )
        boost_len: int = integer(100, "`detector`: labelled rows for which mu_high applies.", at_least=1)
        N0: float = number(200.0, "`fortescue`: approximate memory, in rows.", at_least=1.0)
        lambda_min: float = number(0.9, "`fortescue`: least lambda.", at_least=LEAST, at_most=1.0)
        delta: float = number(1.0, "Initial ridge, P = I/delta.", above=0.0)
        p_max: float = number(10000.0, "Wind-up guard: largest diagonal entry of P.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        if p.lambda_source == "field" and p.column >= self.n_features:
            message = f"column must be < {self.n_features}, the number of features, got {p.column}"
            raise TooFewFeatures(message, p.column + 1)
        if p.lambda_source == "detector" and self.kind == "regression":
            raise ParameterError("lambda_source=detector needs classes: in regression there are no mistakes to count")
        source, ddm = SOURCES.index(p.lambda_source), DDM.Params().numbers()
        given = GDFOPNumbers(source, p.mu, p.column, p.mu_high, p.boost_len, p.N0, p.lambda_min, p.p_max, ddm)
        if source == FIELD:
            return UpdateRule(
                score_features, learn_features, given, GDFOPState, {"c": self.width - 1}, uses_weight=True
            )
        return UpdateRule(product, learn, given, GDFOPState, {"c": self.width}, uses_weight=True)

    def initialise(self) -> None:
        self.standardizable = self.parameters.lambda_source != "field"
        np.fill_diagonal(self.state["P"], 1.0 / self.parameters.delta)


class GDFOPNumbers(NamedTuple):
    """Parameters of `g_dfop`."""

    source: int
    """Source of lambda: `CONST`, `HARMONIC`, `FIELD`, `DETECTOR` or `FORTESCUE`."""
    mu: float
    column: int
    mu_high: float
    boost_len: int
    N0: float
    lambda_min: float
    p_max: float
    ddm: DDM.Params


class GDFOPState(NamedTuple):
    """State of `g_dfop`; c is d, without the lambda column under ``field``."""

    weight: Array = field("f8[c]", "least-squares weights, with the intercept and without a ``field``")
    P: Array = field("f8[c, c]", "inverse of the discounted second-moment matrix, bitwise symmetric")
    learned: Counts = field("i8[1]", "t, labelled rows")
    variance: Array = field("f8[1]", "of ``fortescue``, running variance of the errors")
    boosted: Counts = field("i8[1]", "of ``detector``, rows of mu_high that are still to come")
    alarms: Counts = field("i8[1]", "of ``detector``, drifts so far")
    ddm: DDMState = part(DDMState, "of ``detector``")
    skipped: Counts = field("i8[1]", "labelled rows whose step was not finite, or whose ``field`` was not in (0, 1]")
    k: Array = scratch("f8[c]", "P x")
    features: Array = scratch("f8[c]", "of ``field``, the row without it")


@fragment
def score_features(x: Array, p: GDFOPNumbers, memory: GDFOPState) -> float:
    """The score of a row with a lambda column; leaves the features in memory for `learn_features`.

    Shapes: x f8[d + 1].
    """
    features = memory.features
    for j in range(features.shape[0]):
        features[j] = x[j] if j < p.column else x[j + 1]
    return dot(memory.weight, features)


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: GDFOPNumbers, memory: GDFOPState) -> None:
    """Learn a row without a lambda column. Shapes: x f8[d]."""
    vary(x, 0.0, y, omega, s, p, memory)


@fragment
def learn_features(x: Array, y: float, omega: float, s: float, p: GDFOPNumbers, memory: GDFOPState) -> None:
    """Learn a row with a lambda column. Shapes: x f8[d + 1]."""
    vary(memory.features, x[p.column], y, omega, s, p, memory)


@fragment
def vary(x: Array, read: float, y: float, omega: float, s: float, p: GDFOPNumbers, memory: GDFOPState) -> None:
    """Choose lambda, fold the row into the solution, then update the detector with the correctness of the prediction.

    Shapes: x f8[d]; `read` is lambda if the source is FIELD. docs/algorithms/least_squares.md#g_dfop. A row that would
    overflow only counts for t and the detector.
    """
    memory.learned[0] += 1
    error, learned = y - s, memory.learned[0]
    v = matvec(memory.P, x, memory.k)
    forgetting, spread, usable = 1.0 - p.mu, memory.variance[0], True
    if p.source == HARMONIC:
        forgetting = 1.0 - max(p.mu, 1.0 / (learned + 1.0))
    elif p.source == FIELD:
        usable = 0.0 < read <= 1.0
        if usable:
            forgetting = max(read, LEAST)
    elif p.source == DETECTOR and memory.boosted[0] > 0:
        forgetting = 1.0 - p.mu_high
        memory.boosted[0] -= 1
    elif p.source == FORTESCUE:
        squared = omega * error * error
        spread = follow(spread, squared, newest_share(learned, SLOWEST))
        forgetting = surprise(squared, omega * v, spread, p.N0, p.lambda_min)
    absorbed = absorb(v, error, omega, forgetting, p.p_max, memory)
    if absorbed:
        memory.variance[0] = spread
    if not (absorbed and usable):
        memory.skipped[0] += 1
    if p.source == DETECTOR:
        shown = s if math.isfinite(s) else 0.0
        wrong = 1.0 if (shown >= 0.0) != (y > 0.0) else 0.0
        if detect(wrong, p.ddm, memory.ddm) == DRIFT:
            memory.boosted[0] = p.boost_len
            memory.alarms[0] += 1


@fragment
def follow(variance: float, squared: float, rate: float) -> float:
    """The running variance after an error; unchanged if the square overflows."""
    moved = variance + (squared - variance) * rate
    return moved if math.isfinite(moved) else variance


@fragment
def surprise(squared: float, v: float, variance: float, N0: float, lambda_min: float) -> float:
    """Lambda by Fortescue's rule: 1 minus the error's share of N0 mean squared errors; 1 without any error so far."""
    if variance == 0.0:
        return 1.0
    return min(max(1.0 - squared / ((1.0 + v) * N0 * variance), lambda_min), 1.0)
