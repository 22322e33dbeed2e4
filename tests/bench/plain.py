"""One loop per learner as one would write it by hand: the update of the paper and nothing else.

Each takes rows f8[n, d] (with the intercept's column already there, which the learner has to append), y f8[n],
score f8[n, 1] and its own arrays, and runs at the learner's default parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from learners.jit import kernel


@kernel
def majority_class(rows, y, score, counts):
    for t in range(len(y)):
        score[t, 0] = counts[1] - counts[0]
        counts[int(y[t])] += 1


@kernel
def no_change(rows, y, score, last):
    for t in range(len(y)):
        score[t, 0] = 2.0 * last[0] - 1.0
        last[0] = y[t]


@kernel
def perceptron(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            for j in range(d):
                weight[j] += label * rows[t, j]


@kernel
def pa1(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        loss = 1.0 - label * s
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            tau = min(0.1, loss / x2)
            for j in range(d):
                weight[j] += tau * label * rows[t, j]


@kernel
def arow(rows, y, score, weight, covariance, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            v = 0.0
            for i in range(d):
                k[i] = 0.0
                for j in range(d):
                    k[i] += covariance[i, j] * rows[t, j]
                v += rows[t, i] * k[i]
            beta = 1.0 / (v + 1.0)
            alpha = (1.0 - label * s) * beta
            for i in range(d):
                weight[i] += alpha * label * k[i]
                for j in range(d):
                    covariance[i, j] -= beta * k[i] * k[j]


@kernel
def least_squares(rows, y, score, forgetting, weight, P, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        h = forgetting
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += P[i, j] * rows[t, j]
            h += rows[t, i] * k[i]
        step = (2.0 * y[t] - 1.0 - s) / h
        for i in range(d):
            weight[i] += step * k[i]
            for j in range(d):
                P[i, j] = (P[i, j] - k[i] * k[j] / h) / forgetting


Loop = tuple[Callable[..., None], Callable[[int], tuple[Any, ...]]]

PLAIN: dict[str, Loop] = {
    "majority_class": (majority_class, lambda d: (np.zeros(2, np.int64),)),
    "no_change": (no_change, lambda d: (np.ones(1),)),
    "perceptron": (perceptron, lambda d: (np.zeros(d),)),
    "pa1": (pa1, lambda d: (np.zeros(d),)),
    "arow": (arow, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "rls": (least_squares, lambda d: (1.0, np.zeros(d), np.eye(d), np.empty(d))),
    "dfop": (least_squares, lambda d: (0.995, np.zeros(d), np.eye(d), np.empty(d))),
}
"""Learner -> its loop and, for a width, what the loop needs beside rows, labels and scores."""
