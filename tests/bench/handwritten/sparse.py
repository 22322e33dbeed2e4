"""Sparse learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def truncated_gradient(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        step = 0.1 * label / (1.0 + np.exp(label * s))
        for j in range(d):
            weight[j] += step * rows[t, j]
        if (t + 1) % 10 == 0:
            for j in range(d - 1):
                if 0.0 <= weight[j] <= 1.0:
                    weight[j] = max(0.0, weight[j] - 0.001)
                elif -1.0 <= weight[j] < 0.0:
                    weight[j] = min(0.0, weight[j] + 0.001)


@kernel
def fobos_l1(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        eta = 1.0 / np.sqrt(t + 1.0)
        step = eta * label / (1.0 + np.exp(label * s))
        for j in range(d):
            weight[j] += step * rows[t, j]
            if j < d - 1:
                weight[j] = np.sign(weight[j]) * max(0.0, abs(weight[j]) - eta * 0.001)


@kernel
def rda_l1(rows, y, score, average, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        share = 1.0 / (t + 1.0)
        step = -share * label / (1.0 + np.exp(label * s))
        scale = np.sqrt(t + 1.0)
        for j in range(d):
            average[j] = (1.0 - share) * average[j] + step * rows[t, j]
            lam = 0.001 if j < d - 1 else 0.0
            weight[j] = -scale * np.sign(average[j]) * max(0.0, abs(average[j]) - lam)


@kernel
def ftrl_proximal(rows, y, score, z, n, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            lam = 0.001 if j < d - 1 else 0.0
            weight[j] = 0.0
            if abs(z[j]) > lam:
                weight[j] = -(z[j] - np.sign(z[j]) * lam) / ((1.0 + np.sqrt(n[j])) / 0.1 + 0.001)
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        slope = 1.0 / (1.0 + np.exp(-s)) - y[t]
        for j in range(d):
            g = slope * rows[t, j]
            z[j] += g - (np.sqrt(n[j] + g * g) - np.sqrt(n[j])) / 0.1 * weight[j]
            n[j] += g * g


PLAIN: dict[str, Loop] = {
    "truncated_gradient": (truncated_gradient, lambda d: (np.zeros(d),)),
    "fobos_l1": (fobos_l1, lambda d: (np.zeros(d),)),
    "rda_l1": (rda_l1, lambda d: (np.zeros(d), np.zeros(d))),
    "ftrl_proximal": (ftrl_proximal, lambda d: (np.zeros(d), np.zeros(d), np.empty(d))),
}
