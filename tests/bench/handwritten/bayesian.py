"""Bayesian learners, written by hand."""

from __future__ import annotations

import math

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def gaussian_nb(rows, y, score, count, mean, squares):
    d = rows.shape[1]
    for t in range(len(y)):
        score[t, 0] = np.sign(count[1] - count[0])
        if count[0] > 0.0 and count[1] > 0.0:
            s = np.log(count[1] / count[0])
            for j in range(d):
                for c in range(2):
                    v = max(squares[c, j] / count[c], 1e-9)
                    s += (0.5 - c) * (np.log(v) + (rows[t, j] - mean[c, j]) ** 2 / v)
            score[t, 0] = s
        c = int(y[t])
        count[c] += 1.0
        for j in range(d):
            delta = rows[t, j] - mean[c, j]
            mean[c, j] += delta / count[c]
            squares[c, j] += delta * (rows[t, j] - mean[c, j])


@kernel
def bayes_probit(rows, y, score, weight, sigma, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        v = 0.0
        for i in range(d):
            s += weight[i] * rows[t, i]
            k[i] = 0.0
            for j in range(d):
                k[i] += sigma[i, j] * rows[t, j]
            v += rows[t, i] * k[i]
        spread = np.sqrt(1.0 + v)
        s /= spread
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        u = label * s
        V = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi) / (0.5 * math.erfc(-u / np.sqrt(2.0)))
        share = V * (V + u) / (1.0 + v)
        for i in range(d):
            weight[i] += label * V / spread * k[i]
            for j in range(d):
                sigma[i, j] -= share * k[i] * k[j]
            sigma[i, i] += min(1e-4, max(0.0, 1.0 - sigma[i, i]))


PLAIN: dict[str, Loop] = {
    "gaussian_nb": (gaussian_nb, lambda d: (np.zeros(2), np.zeros((2, d)), np.zeros((2, d)))),
    "bayes_probit": (bayes_probit, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
}
