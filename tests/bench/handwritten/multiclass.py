"""Multiclass learners, written by hand for two classes, as in the streams they are timed on."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def mc_pa1(rows, y, score, weight, S):
    K, d = weight.shape
    for t in range(len(y)):
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
        score[t, 0] = S[1] - S[0]
        label = int(y[t])
        rival = 1 if label == 0 else 0
        for r in range(K):
            if r != label and S[r] > S[rival]:
                rival = r
        loss = 1.0 - S[label] + S[rival]
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            tau = min(0.1, loss / (2.0 * x2))
            for j in range(d):
                weight[label, j] += tau * rows[t, j]
                weight[rival, j] -= tau * rows[t, j]


@kernel
def mc_arow(rows, y, score, weight, covariance, k):
    for t in range(len(y)):
        label = 2.0 * y[t] - 1.0
        m = label * margin(rows[t], score[t], weight)
        if m < 1.0:
            beta = 1.0 / (variance_of(rows[t], covariance, k) + 1.0)
            step(weight, covariance, k, (1.0 - m) * beta * label, beta)


@kernel
def margin(x, score, weight):
    s = 0.0
    for j in range(len(x)):
        s += weight[1, j] * x[j]
    for j in range(len(x)):
        s -= weight[0, j] * x[j]
    score[0] = s
    return s


@kernel
def variance_of(x, covariance, k):
    d, v = len(x), 0.0
    for c in range(2):
        for i in range(d):
            k[c, i] = 0.0
            for j in range(d):
                k[c, i] += covariance[c, i, j] * x[j]
            v += x[i] * k[c, i]
    return v


@kernel
def step(weight, covariance, k, alpha, beta):
    d = weight.shape[1]
    for c in range(2):
        for i in range(d):
            weight[c, i] += (2 * c - 1) * alpha * k[c, i]
            for j in range(d):
                covariance[c, i, j] -= beta * k[c, i] * k[c, j]


PLAIN: dict[str, Loop] = {
    "mc_pa1": (mc_pa1, lambda d: (np.zeros((2, d)), np.zeros(2))),
    "mc_arow": (mc_arow, lambda d: (np.zeros((2, d)), np.stack([np.eye(d), np.eye(d)]), np.empty((2, d)))),
}
