"""Sets of classes: those whose scores are below the best one by no more than a threshold."""

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.emissions import Emissions, emitted_at
from driftway.learners.conformal.thresholds import Level, Thresholds, learn
from driftway.learners.contract import Array, fragment, kernel


@fragment
def behind(scores: Array, c: int, best: int, second: float) -> float:
    """How far class c is behind the best other class; negative for the best class, by its lead.

    `best` and `second` are as returned by `two_best`. Shape: scores f8[k].
    """
    if scores.shape[0] == 1:
        return -scores[0] if c == 1 else scores[0]
    return (second if c == best else scores[best]) - scores[c]


@fragment
def two_best(scores: Array) -> tuple[int, float]:
    """Return the class with the best score, the first one of several, and the best score of the others.

    Shape: scores f8[k]; with k = 1 the result is not used.
    """
    best, second = 0, -math.inf
    for c in range(1, scores.shape[0]):
        if scores[c] > scores[best]:
            best, second = c, scores[best]
        elif scores[c] > second:
            second = scores[c]
    return best, second


@fragment
def size_of(scores: Array, limit: float, best: int, second: float) -> int:
    """Number of classes that are behind by at most `limit`. Shape: scores f8[k]."""
    size = 0
    for c in range(max(2, scores.shape[0])):
        size += 1 if behind(scores, c, best, second) <= limit else 0
    return size


@kernel
def run_sets(rows: Emissions, level: Level, experts: Thresholds, out: Array) -> None:
    """Emit each row's threshold, then learn from its label, or from that of an earlier row.

    The conformal score is how far the label's class is behind the best other one. Shape: out f8[n], the threshold of
    each entry's row, NaN if the row has expired.
    """
    score, y = rows.score, rows.y
    for t in range(y.shape[0]):
        emitted, later, places = emitted_at(t, rows, level, experts)
        out[t] = emitted
        if not math.isnan(y[t]):
            best, second = two_best(score[t])
            lag = behind(score[t], int(y[t]), best, second)
            learn(lag, lag <= emitted, emitted, later, places, level, experts)


@kernel
def fill_members(score: Array, limit: Array, member: NDArray[np.bool_]) -> None:
    """Write which classes are in each row's set. Shapes: score f8[n, k], limit f8[n], member b1[n, K]."""
    for t in range(score.shape[0]):
        best, second = two_best(score[t])
        for c in range(member.shape[1]):
            member[t, c] = behind(score[t], c, best, second) <= limit[t]
