"""Second-order learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop

PHI_70, PHI_75 = 0.5244005127080407, 0.6744897501960817
"""Quantiles of the normal distribution at 0.7 and 0.75."""


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
def confidence_variance(rows, y, score, phi, weight, covariance, k):
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
        gamma = (-(1.0 + 2.0 * phi * m) + np.sqrt((1.0 - 2.0 * phi * m) ** 2 + 8.0 * phi * phi * v)) / (4.0 * phi * v)
        if gamma > 0.0 and v > 1e-12:
            alpha, beta = gamma, 2.0 * gamma * phi / (1.0 + 2.0 * gamma * phi * v)
            for i in range(d):
                weight[i] += alpha * label * k[i]
                for j in range(d):
                    covariance[i, j] -= beta * k[i] * k[j]


@kernel
def confidence_deviation(rows, y, score, phi, C, squared, weight, covariance, k):
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
        if phi * np.sqrt(v) > m and v > 1e-12:
            if squared:
                n = v + 0.5 / C
                gamma = phi * np.sqrt(phi * phi * m * m * v * v + 4.0 * n * v * (n + v * phi * phi))
                alpha = (gamma - (2.0 * m * n + phi * phi * m * v)) / (2.0 * (n * n + n * v * phi * phi))
            else:
                root = np.sqrt(m * m * phi**4 / 4.0 + v * phi * phi * (1.0 + phi * phi))
                alpha = min(C, (root - m * (1.0 + phi * phi / 2.0)) / (v * (1.0 + phi * phi)))
            after = 0.5 * (np.sqrt(alpha * alpha * v * v * phi * phi + 4.0 * v) - alpha * v * phi)
            beta = alpha * phi / (after + v * alpha * phi)
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


@kernel
def nherd(rows, y, score, weight, covariance, k):
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
            alpha = (1.0 - label * s) / (v + 10.0)
            beta = (0.01 * v + 0.2) / (1.0 + 0.1 * v) ** 2
            for i in range(d):
                weight[i] += alpha * label * k[i]
                for j in range(d):
                    covariance[i, j] -= beta * k[i] * k[j]


@kernel
def narow(rows, y, score, weight, covariance, k):
    d = rows.shape[1]
    for t in range(len(y)):
        v, s = 0.0, 0.0
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += covariance[i, j] * rows[t, j]
            v += rows[t, i] * k[i]
            s += weight[i] * k[i]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            for i in range(d):
                weight[i] += label * rows[t, i]
            if v > 1.0:
                beta = 1.0 / (v + v / (v - 1.0))
                for i in range(d):
                    for j in range(d):
                        covariance[i, j] -= beta * k[i] * k[j]


@kernel
def iellip(rows, y, score, weight, covariance, ct, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            v = 0.0
            for i in range(d):
                k[i] = 0.0
                for j in range(d):
                    k[i] += covariance[i, j] * rows[t, j]
                v += rows[t, i] * k[i]
            alpha = (1.0 - label * s) / v
            for i in range(d):
                weight[i] += alpha * label * k[i]
                for j in range(d):
                    covariance[i, j] = (covariance[i, j] - ct[0] / v * k[i] * k[j]) / (1.0 - ct[0])
            ct[0] *= 0.3


PLAIN: dict[str, Loop] = {
    "arow": (arow, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "scw1": (confidence_deviation, lambda d: (PHI_75, 1.0, False, np.zeros(d), np.eye(d), np.empty(d))),
    "scw2": (confidence_deviation, lambda d: (PHI_75, 1.0, True, np.zeros(d), np.eye(d), np.empty(d))),
    "cw": (confidence_variance, lambda d: (PHI_70, np.zeros(d), np.eye(d), np.empty(d))),
    "cw_stdev": (confidence_deviation, lambda d: (PHI_70, np.inf, False, np.zeros(d), np.eye(d), np.empty(d))),
    "sop": (sop, lambda d: (np.zeros(d), np.zeros(d), np.eye(d), np.empty(d))),
    "nherd": (nherd, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "narow": (narow, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "iellip": (iellip, lambda d: (np.zeros(d), np.eye(d), np.full(1, 0.1), np.empty(d))),
}
