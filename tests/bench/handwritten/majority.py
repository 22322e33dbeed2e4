"""A vote of three learners of different kinds, written by hand."""

from __future__ import annotations

import math

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def weighted_majority(rows, y, score, share, slow, fast, target, mean, sigma, k, s):
    d = rows.shape[1]
    for t in range(len(y)):
        s[:] = 0.0
        v = 0.0
        for i in range(d):
            s[0] += slow[i] * rows[t, i]
            s[1] += fast[i] * rows[t, i]
            s[2] += mean[i] * rows[t, i]
            k[i] = 0.0
            for j in range(d):
                k[i] += sigma[i, j] * rows[t, j]
            v += rows[t, i] * k[i]
        spread = np.sqrt(1.0 + v)
        s[2] /= spread
        votes_for = 0.0
        total = 0.0
        for e in range(3):
            votes_for += share[e] if s[e] >= 0.0 else -share[e]
            total += share[e]
        score[t, 0] = votes_for / total
        label = 2.0 * y[t] - 1.0
        heaviest = 0.0
        for e in range(3):
            if (s[e] >= 0.0) != (label > 0.0) and share[e] > 0.05 * total / 3.0:
                share[e] *= 0.5
            heaviest = max(heaviest, share[e])
        for e in range(3):
            share[e] /= heaviest
        step = label / (1.0 + np.exp(label * s[0])) / np.sqrt(t + 1.0)
        for j in range(d):
            slow[j] += step * rows[t, j]
        if label * s[1] < target[0]:
            relax(rows[t], label * target[0], s[1], fast, target)
        u = label * s[2]
        V = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi) / (0.5 * math.erfc(-u / np.sqrt(2.0)))
        narrower = V * (V + u) / (1.0 + v)
        for i in range(d):
            mean[i] += label * V / spread * k[i]
            for j in range(d):
                sigma[i, j] -= narrower * k[i] * k[j]
            sigma[i, i] += min(1e-3, max(0.0, 1.0 - sigma[i, i]))


@kernel
def relax(x, m, s, weight, target):
    """A step of `aromma`."""
    x2 = 0.0
    w2 = 0.0
    for j in range(len(x)):
        x2 += x[j] * x[j]
        w2 += weight[j] * weight[j]
    c = (x2 * w2 - m * s) / (x2 * w2 - s * s) if w2 > 0.0 else -1.0
    e = w2 * (m - s) / (x2 * w2 - s * s) if c >= 0.0 else m / x2
    size = 0.0
    for j in range(len(x)):
        weight[j] = max(c, 0.0) * weight[j] + e * x[j]
        size += weight[j] * weight[j]
    if size > 1e12:
        for j in range(len(x)):
            weight[j] /= np.sqrt(size)
        target[0] /= np.sqrt(size)


def pool_of_three(d: int) -> tuple[np.ndarray, ...]:
    bayes = np.zeros(d), np.eye(d), np.empty(d)
    return np.ones(3), np.zeros(d), np.zeros(d), np.ones(1), *bayes, np.empty(3)


PLAIN: dict[str, Loop] = {"weighted_majority": (weighted_majority, pool_of_three)}
