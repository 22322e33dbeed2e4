"""Recursive least squares, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop

FORGETTING = 0.995


@kernel
def dfop(rows, y, score, weight, P, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        h = FORGETTING
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += P[i, j] * rows[t, j]
            h += rows[t, i] * k[i]
        step = (2.0 * y[t] - 1.0 - s) / h
        for i in range(d):
            weight[i] += step * k[i]
            for j in range(d):
                P[i, j] = (P[i, j] - k[i] * k[j] / h) / FORGETTING


PLAIN: dict[str, Loop] = {"dfop": (dfop, lambda d: (np.zeros(d), np.eye(d), np.empty(d)))}
