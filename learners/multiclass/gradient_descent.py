"""Online gradient descent of several classes: on the hinge loss of the margin and on the log loss of a softmax."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.elementary.exponential import exp
from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.linear.gradient_descent import INV_SQRT, INV_T
from learners.multiclass.margins import best_wrong, score_classes, step_apart, step_each, write_score


@fragment
def scheduled(schedule: int, eta: float, t: int) -> float:
    """eta_t, the step size at labelled row t = 1, 2, ... ALGORITHMS.md 1.9."""
    if schedule == INV_SQRT:
        return eta / math.sqrt(t)
    return eta / t if schedule == INV_T else eta


@fragment
def softmax_steps(S: Array, label: int, eta: float, step: Array) -> None:
    """-eta (softmax(S)_r - [r = label]) for every class r. Shapes: S f8[K], step f8[K] written.

    The largest score is taken off first, or exp would overflow.
    """
    largest = S[0]
    for r in range(1, S.shape[0]):
        largest = max(largest, S[r])
    total = 0.0
    for r in range(S.shape[0]):
        step[r] = exp(S[r] - largest)
        total += step[r]
    for r in range(S.shape[0]):
        step[r] = -eta * (step[r] / total - (1.0 if r == label else 0.0))


@bare_kernel
def hinge_descent(
    rows: Array,
    y: Array,
    score: Array,
    schedule: int,
    eta: float,
    weight: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
    S: Array,
) -> None:
    """Predict; where the margin is below 1, step by eta_t x in the right class and -eta_t x in the best wrong one.

    Shapes: rows f8[n, d], y f8[n], score f8[n, k], weight f8[K, d], learned i8[1], skipped i8[1], S f8[K] scratch.
    ALGORITHMS.md 8. A row that would overflow counts for t and leaves the weights.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        label = int(y[t])
        rival = best_wrong(S, label)
        if finite and S[label] - S[rival] >= 1.0:
            continue
        eta_t = scheduled(schedule, eta, learned[0])
        if not (finite and step_apart(weight[label], x, weight[rival], x, eta_t)):
            skipped[0] += 1


@bare_kernel
def softmax_descent(
    rows: Array,
    y: Array,
    score: Array,
    schedule: int,
    eta: float,
    weight: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
    S: Array,
    step: Array,
) -> None:
    """Predict, then step every class against the gradient of the row's log loss.

    Shapes: rows f8[n, d], y f8[n], score f8[n, k], weight f8[K, d], learned i8[1], skipped i8[1], S f8[K] and step
    f8[K] scratch. ALGORITHMS.md 8. A row that would overflow counts for t and leaves the weights.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        if finite:
            softmax_steps(S, int(y[t]), scheduled(schedule, eta, learned[0]), step)
        if not (finite and step_each(weight, x, step)):
            skipped[0] += 1
