"""Bayesian learners, written by hand."""

from __future__ import annotations

import math

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.least_squares import least_squares
from tests.bench.handwritten.loop import Loop


@kernel
def beta_bernoulli(rows, y, score, counts):
    for t in range(len(y)):
        score[t, 0] = np.log(counts[1] / counts[0])
        counts[int(y[t])] += 1.0


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
    "beta_bernoulli": (beta_bernoulli, lambda d: (np.ones(2),)),
    "bayes_linear": (least_squares, lambda d: (1.0, np.zeros(d), np.eye(d), np.empty(d))),
    "bayes_probit": (bayes_probit, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
}
