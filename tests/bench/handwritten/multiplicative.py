"""Plain loops of the learners that multiply their weights."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def winnow(rows, y, score, log_weight, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            total = 0.0
            for j in range(d):
                log_weight[j] += 0.1 * label * rows[t, j]
                weight[j] = np.exp(log_weight[j]) - np.exp(-log_weight[j])
                total += np.exp(log_weight[j]) + np.exp(-log_weight[j])
            for j in range(d):
                weight[j] *= 10.0 / total


@kernel
def tracking_winnow(rows, y, score, share, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            total, raised = 0.0, 0.0
            for j in range(2 * d):
                x = rows[t, j] if j < d else -rows[t, j - d]
                share[j] = np.exp(np.log(share[j]) + 0.1 * label * x)
                total += share[j]
            for j in range(2 * d):
                share[j] = max(share[j] / total, 0.005 / d)
                raised += share[j]
            for j in range(2 * d):
                share[j] /= raised
            for j in range(d):
                weight[j] = 10.0 * (share[j] - share[d + j])


PLAIN: dict[str, Loop] = {
    "winnow": (winnow, lambda d: (np.zeros(d), np.zeros(d))),
    "tracking_winnow": (tracking_winnow, lambda d: (np.full(2 * d, 0.5 / d), np.zeros(d))),
}
