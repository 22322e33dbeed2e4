"""Second-order learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop

PHI_75 = 0.6744897501960817
"""The 0.75 quantile of the normal distribution."""


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
def scw1(rows, y, score, weight, covariance, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        m = label * s
        v = 0.0
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += covariance[i, j] * rows[t, j]
            v += rows[t, i] * k[i]
        if PHI_75 * np.sqrt(v) > m and v > 1e-12:
            root = np.sqrt(m * m * PHI_75**4 / 4.0 + v * PHI_75 * PHI_75 * (1.0 + PHI_75 * PHI_75))
            alpha = min(1.0, (root - m * (1.0 + PHI_75 * PHI_75 / 2.0)) / (v * (1.0 + PHI_75 * PHI_75)))
            after = 0.5 * (np.sqrt(alpha * alpha * v * v * PHI_75 * PHI_75 + 4.0 * v) - alpha * v * PHI_75)
            beta = alpha * PHI_75 / (after + v * alpha * PHI_75)
            for i in range(d):
                weight[i] += alpha * label * k[i]
                for j in range(d):
                    covariance[i, j] -= beta * k[i] * k[j]


@kernel
def sop(rows, y, score, weight, vec, covariance, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        v = 0.0
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += covariance[i, j] * rows[t, j]
            v += rows[t, i] * k[i]
        score[t, 0] = s / (1.0 + v)
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            for i in range(d):
                vec[i] += label * rows[t, i]
                for j in range(d):
                    covariance[i, j] -= k[i] * k[j] / (1.0 + v)
            for i in range(d):
                weight[i] = 0.0
                for j in range(d):
                    weight[i] += covariance[i, j] * vec[j]


PLAIN: dict[str, Loop] = {
    "arow": (arow, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "scw1": (scw1, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "sop": (sop, lambda d: (np.zeros(d), np.zeros(d), np.eye(d), np.empty(d))),
}
