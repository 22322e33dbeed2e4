"""Cost-sensitive learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def csogd1(rows, y, score, weight, classes):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        classes[int(y[t])] += 1.0
        label = 2.0 * y[t] - 1.0
        if label * s < (classes[0] / classes[1] if label > 0.0 else 1.0):
            for j in range(d):
                weight[j] += 0.1 * label * rows[t, j]


@kernel
def csogd2(rows, y, score, weight, classes):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        classes[int(y[t])] += 1.0
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            rho = classes[0] / classes[1] if label > 0.0 else 1.0
            for j in range(d):
                weight[j] += 0.01 * rho * label * rows[t, j]


@kernel
def acog(rows, y, score, weight, covariance, classes, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        classes[int(y[t])] += 1.0
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            v = 0.0
            for i in range(d):
                k[i] = 0.0
                for j in range(d):
                    k[i] += covariance[i, j] * rows[t, j]
                v += rows[t, i] * k[i]
            rho = classes[0] / classes[1] if label > 0.0 else 1.0
            for i in range(d):
                weight[i] += rho * label * k[i] * 10.0 / (10.0 + v)
                for j in range(d):
                    covariance[i, j] -= k[i] * k[j] / (10.0 + v)


PLAIN: dict[str, Loop] = {
    "csogd1": (csogd1, lambda d: (np.zeros(d), np.ones(2))),
    "csogd2": (csogd2, lambda d: (np.zeros(d), np.ones(2))),
    "acog": (acog, lambda d: (np.zeros(d), np.eye(d), np.ones(2), np.empty(d))),
}
