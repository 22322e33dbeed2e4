"""Multiclass covariance learners, written by hand for two classes."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop

PHI_70, PHI_75 = 0.5244005127080407, 0.6744897501960817
"""Quantiles of the normal distribution at 0.7 and 0.75."""


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


@kernel
def mc_arow(rows, y, score, weight, covariance, k):
    for t in range(len(y)):
        label = 2.0 * y[t] - 1.0
        m = label * margin(rows[t], score[t], weight)
        if m < 1.0:
            beta = 1.0 / (variance_of(rows[t], covariance, k) + 1.0)
            step(weight, covariance, k, (1.0 - m) * beta * label, beta)


@kernel
def mc_nherd(rows, y, score, weight, covariance, k):
    for t in range(len(y)):
        label = 2.0 * y[t] - 1.0
        m = label * margin(rows[t], score[t], weight)
        if m < 1.0:
            v = variance_of(rows[t], covariance, k)
            beta = (0.01 * v + 0.2) / (1.0 + 0.1 * v) ** 2
            step(weight, covariance, k, (1.0 - m) / (v + 10.0) * label, beta)


@kernel
def mc_cw(rows, y, score, phi, weight, covariance, k):
    for t in range(len(y)):
        label = 2.0 * y[t] - 1.0
        m = label * margin(rows[t], score[t], weight)
        v = variance_of(rows[t], covariance, k)
        gamma = (-(1.0 + 2.0 * phi * m) + np.sqrt((1.0 - 2.0 * phi * m) ** 2 + 8.0 * phi * phi * v)) / (4.0 * phi * v)
        if gamma > 0.0 and v > 1e-12:
            step(weight, covariance, k, gamma * label, 2.0 * gamma * phi / (1.0 + 2.0 * gamma * phi * v))


@kernel
def mc_cw_stdev(rows, y, score, phi, C, squared, weight, covariance, k):
    for t in range(len(y)):
        label = 2.0 * y[t] - 1.0
        m = label * margin(rows[t], score[t], weight)
        v = variance_of(rows[t], covariance, k)
        if phi * np.sqrt(v) > m and v > 1e-12:
            if squared:
                n = v + 0.5 / C
                gamma = phi * np.sqrt(phi * phi * m * m * v * v + 4.0 * n * v * (n + v * phi * phi))
                alpha = (gamma - (2.0 * m * n + phi * phi * m * v)) / (2.0 * (n * n + n * v * phi * phi))
            else:
                root = np.sqrt(m * m * phi**4 / 4.0 + v * phi * phi * (1.0 + phi * phi))
                alpha = min(C, (root - m * (1.0 + phi * phi / 2.0)) / (v * (1.0 + phi * phi)))
            after = 0.5 * (np.sqrt(alpha * alpha * v * v * phi * phi + 4.0 * v) - alpha * v * phi)
            step(weight, covariance, k, alpha * label, alpha * phi / (after + v * alpha * phi))


@kernel
def arowa(rows, y, score, weight, variance):
    d = rows.shape[1]
    for t in range(len(y)):
        label = 2.0 * y[t] - 1.0
        m = label * margin(rows[t], score[t], weight)
        if m < 1.0:
            v = 0.0
            for c in range(2):
                for j in range(d):
                    v += variance[c, j] * rows[t, j] * rows[t, j]
            alpha = (1.0 - m) / (v + 1.0) * label
            for c in range(2):
                for j in range(d):
                    weight[c, j] += (2 * c - 1) * alpha * variance[c, j] * rows[t, j]
                    variance[c, j] = 1.0 / (1.0 / variance[c, j] + rows[t, j] * rows[t, j])


@kernel
def arowa_pair(rows, y, score, weight, variance):
    d1, d2 = weight.shape
    p = np.ones(d1)
    for t in range(len(y)):
        p[:-1] = rows[t, : d1 - 1]
        z = rows[t, d1 - 1 :]
        s = 0.0
        for i in range(d1):
            for j in range(d2):
                s += p[i] * weight[i, j] * z[j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            v = 0.0
            for i in range(d1):
                for j in range(d2):
                    v += variance[i, j] * (p[i] * z[j]) ** 2
            alpha = (1.0 - label * s) / (v + 1.0) * label
            for i in range(d1):
                for j in range(d2):
                    weight[i, j] += alpha * variance[i, j] * p[i] * z[j]
                    variance[i, j] = 1.0 / (1.0 / variance[i, j] + (p[i] * z[j]) ** 2)


def matrices(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((2, d)), np.stack([np.eye(d), np.eye(d)]), np.empty((2, d))


def pair(d: int) -> tuple[np.ndarray, np.ndarray]:
    shape = d // 2 + 1, d - d // 2
    return np.zeros(shape), np.ones(shape)


PLAIN: dict[str, Loop] = {
    "mc_cw": (mc_cw, lambda d: (PHI_70, *matrices(d))),
    "mc_cw_stdev": (mc_cw_stdev, lambda d: (PHI_70, np.inf, False, *matrices(d))),
    "mc_arow": (mc_arow, matrices),
    "mc_nherd": (mc_nherd, matrices),
    "mc_scw1": (mc_cw_stdev, lambda d: (PHI_75, 1.0, False, *matrices(d))),
    "mc_scw2": (mc_cw_stdev, lambda d: (PHI_75, 1.0, True, *matrices(d))),
    "arowa": (arowa, lambda d: (np.zeros((2, d)), np.ones((2, d)))),
    "arowa_pair": (arowa_pair, pair),
}
