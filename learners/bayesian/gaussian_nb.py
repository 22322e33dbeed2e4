"""Gaussian naive Bayes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.elementary.logarithm import log
from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters, number
from learners.state import Fields

UNSEEN = -1e300
"""Score of a class that was never seen or has been forgotten, and the lowest of any other."""
FORGOTTEN = 1e-100
"""Decayed rows of a class below which it is forgotten; much further down its sums would leave float64."""


class GaussianNB(Learner):
    """Describes each class by mean and variance of every feature, and predicts the class that fits a row best.

    S_c = ln(n_c / n) - 1/2 sum_j [ln v_cj + (x_j - m_cj)^2 / v_cj]. It treats features as independent, needs no
    scaling and few rows. With decay < 1 a row of k rows ago counts decay^k: choose it where the classes move.
    Without decay a wild row among the first stays in the moments, bounded: with three classes it cost a point.

    Parameters
    ----------
    var_floor : float
        Least variance of a feature, var_floor > 0, unit of a squared feature. Default 1e-09.
    decay : float
        What one labelled row leaves of the weight of those before, 0 < decay <= 1; 1 = forget nothing. Default 1.0.

    State
    -----
    count : f8[K]           weight of each class's rows, 0 for one not seen
    mean : f8[K, d]         means of the features
    squares : f8[K, d]      weighted sums of squared deviations from the mean; v = squares / count
    skipped : i8[1]         labelled rows that would have overflowed the sums

    Cost
    ----
    O(K d) per row, with K d logarithms; 16 K d + 8 K + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a regression task.

    Source
    ------
    Incremental Gaussian naive Bayes (ALGORITHMS.md 2) with the moments of Welford, Technometrics 1962. Binary score
    S_1 - S_0; while only one class has been seen, +1 or -1 for that class, and 0 before.
    """

    name = "gaussian_nb"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "softmax"

    @dataclass(frozen=True)
    class Params(Parameters):
        var_floor: float = number(1e-9, above=0.0)
        decay: float = number(1.0, above=0.0, at_most=1.0)

    def fields(self) -> Fields:
        K, d = self.n_classes, self.n_features
        return {
            "count": ("f8", (K,)),
            "mean": ("f8", (K, d)),
            "squares": ("f8", (K, d)),
            "skipped": ("i8", (1,)),
        }

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        gaussian_nb(rows, y, score, p.var_floor, p.decay, s["count"], s["mean"], s["squares"], s["skipped"])


@fragment
def log_posterior(x: Array, count: float, total: float, mean: Array, squares: Array, floor: float) -> float:
    """S_c, the logarithm of the class's posterior but for what all classes share; UNSEEN if that is not finite.

    Shapes: x f8[d], mean f8[d], squares f8[d].
    """
    if count == 0.0:
        return UNSEEN
    misfit = 0.0
    for j in range(x.shape[0]):
        variance = max(squares[j] / count, floor)
        misfit += log(variance) + (x[j] - mean[j]) * (x[j] - mean[j]) / variance
    s = log(count / total) - 0.5 * misfit
    return max(s, UNSEEN) if math.isfinite(s) else UNSEEN


@fragment
def take_in(x: Array, label: int, decay: float, count: Array, mean: Array, squares: Array) -> bool:
    """Let all classes decay, then add the row to its own; or nothing, if some sum would overflow; say which.

    Shapes: x f8[d], count f8[K], mean f8[K, d], squares f8[K, d].
    """
    now = decay * count[label] + 1.0
    overflows = False
    for j in range(x.shape[0]):
        delta = x[j] - mean[label, j]
        moved = mean[label, j] + delta / now
        grown = decay * squares[label, j] + delta * (x[j] - moved)
        overflows |= (moved - moved != 0.0) | (grown - grown != 0.0)
    if overflows:
        return False
    if decay < 1.0:
        for c in range(count.shape[0]):
            count[c] *= decay
            for j in range(x.shape[0]):
                squares[c, j] *= decay
            if count[c] < FORGOTTEN:
                count[c] = 0.0
                for j in range(x.shape[0]):
                    mean[c, j] = 0.0
                    squares[c, j] = 0.0
    count[label] += 1.0
    for j in range(x.shape[0]):
        delta = x[j] - mean[label, j]
        mean[label, j] += delta / count[label]
        squares[label, j] += delta * (x[j] - mean[label, j])
    return True


@bare_kernel
def gaussian_nb(
    rows: Array,
    y: Array,
    score: Array,
    floor: float,
    decay: float,
    count: Array,
    mean: Array,
    squares: Array,
    skipped: NDArray[np.int64],
) -> None:
    """Score each class by how well the row fits it, then add the row to its class.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1] (binary) or f8[n, K], count f8[K], mean f8[K, d], squares f8[K, d],
    skipped i8[1]. ALGORITHMS.md 2.
    """
    K = count.shape[0]
    binary = score.shape[1] == 1
    for t in range(rows.shape[0]):
        x = rows[t]
        total = 0.0
        for c in range(K):
            total += count[c]
        if not binary:
            for c in range(K):
                score[t, c] = log_posterior(x, count[c], total, mean[c], squares[c], floor)
        elif count[0] > 0.0 and count[1] > 0.0:
            s = 0.0
            for c in range(K):
                s = log_posterior(x, count[c], total, mean[c], squares[c], floor) - s
            score[t, 0] = s
        elif count[1] > 0.0:
            score[t, 0] = 1.0
        else:
            score[t, 0] = -1.0 if count[0] > 0.0 else 0.0
        if not math.isnan(y[t]) and not take_in(x, int(y[t]), decay, count, mean, squares):
            skipped[0] += 1
