"""First-order learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


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
def ogd_logistic(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        step = label / (1.0 + np.exp(label * s)) / np.sqrt(t + 1.0)
        for j in range(d):
            weight[j] += step * rows[t, j]


PLAIN: dict[str, Loop] = {
    "perceptron": (perceptron, lambda d: (np.zeros(d),)),
    "pa1": (pa1, lambda d: (np.zeros(d),)),
    "ogd_logistic": (ogd_logistic, lambda d: (np.zeros(d),)),
}
