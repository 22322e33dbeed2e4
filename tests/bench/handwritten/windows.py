"""A sliding-window learner, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def knn_win(rows, y, score, X, Y, taken):
    size, d = X.shape
    for row in range(len(y)):
        t = taken[0]
        minus, plus = np.inf, np.inf
        for i in range(min(t, size)):
            squared = 0.0
            for j in range(d):
                squared += (rows[row, j] - X[i, j]) ** 2
            if Y[i] > 0.0:
                plus = min(plus, squared)
            else:
                minus = min(minus, squared)
        near, far = np.sqrt(plus), np.sqrt(minus)
        if t == 0 or near == far:
            score[row, 0] = 0.0
        elif np.isinf(near) or np.isinf(far):
            score[row, 0] = -1.0 if np.isinf(near) else 1.0
        else:
            score[row, 0] = (far - near) / (far + near)
        X[t % size] = rows[row]
        Y[t % size] = y[row]
        taken[0] += 1


PLAIN: dict[str, Loop] = {"knn_win": (knn_win, lambda d: (np.zeros((1000, d)), np.zeros(1000), np.zeros(1, np.int64)))}
