"""Baselines and first-order learners, written by hand."""

from __future__ import annotations

import numpy as np

from learners.jit import kernel
from tests.bench.plain.loop import Loop


@kernel
def majority_class(rows, y, score, counts):
    for t in range(len(y)):
        score[t, 0] = counts[1] - counts[0]
        counts[int(y[t])] += 1


@kernel
def no_change(rows, y, score, last):
    for t in range(len(y)):
        score[t, 0] = 2.0 * last[0] - 1.0
        last[0] = y[t]


@kernel
def perceptron(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            for j in range(d):
                weight[j] += label * rows[t, j]


@kernel
def pa1(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        loss = 1.0 - label * s
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            tau = min(0.1, loss / x2)
            for j in range(d):
                weight[j] += tau * label * rows[t, j]


@kernel
def passive_aggressive(rows, y, score, ridge, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        loss = 1.0 - label * s
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            for j in range(d):
                weight[j] += loss / (x2 + ridge) * label * rows[t, j]


@kernel
def hinge_descent(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            for j in range(d):
                weight[j] += label / np.sqrt(t + 1.0) * rows[t, j]


@kernel
def logistic_descent(rows, y, score, epoch, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        step = label / (1.0 + np.exp(label * s)) / np.sqrt(t % epoch + 1.0)
        for j in range(d):
            weight[j] += step * rows[t, j]
        if (t + 1) % epoch == 0:
            weight[:] = 0.0


@kernel
def square_descent(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        x2 = 0.0
        for j in range(d):
            x2 += rows[t, j] * rows[t, j]
        step = min(1.0 / np.sqrt(t + 1.0), 1.0 / x2) * (2.0 * y[t] - 1.0 - s)
        for j in range(d):
            weight[j] += step * rows[t, j]


@kernel
def pegasos(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        step = label * 1e3 / (t + 1.0) if label * s < 1.0 else 0.0
        w2 = 0.0
        for j in range(d):
            weight[j] = (1.0 - 1.0 / (t + 1.0)) * weight[j] + step * rows[t, j]
            w2 += weight[j] * weight[j]
        if w2 > 1e3:
            for j in range(d):
                weight[j] *= np.sqrt(1e3 / w2)


@kernel
def additive(rows, y, score, alpha, rho, keep, radius, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if keep < 1.0:
            for j in range(d):
                weight[j] *= keep
        if label * s <= rho:
            w2 = 0.0
            for j in range(d):
                weight[j] += alpha * label * rows[t, j]
                w2 += weight[j] * weight[j]
            if w2 > radius * radius:
                for j in range(d):
                    weight[j] *= radius / np.sqrt(w2)


@kernel
def relaxed_margin(rows, y, score, weight, target):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s < target[0]:
            x2 = 0.0
            w2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
                w2 += weight[j] * weight[j]
            m = label * target[0]
            c = (x2 * w2 - m * s) / (x2 * w2 - s * s) if w2 > 0.0 else -1.0
            e = w2 * (m - s) / (x2 * w2 - s * s) if c >= 0.0 else m / x2
            size = 0.0
            for j in range(d):
                weight[j] = max(c, 0.0) * weight[j] + e * rows[t, j]
                size += weight[j] * weight[j]
            if size > 1e12:
                for j in range(d):
                    weight[j] /= np.sqrt(size)
                target[0] /= np.sqrt(size)


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


PLAIN: dict[str, Loop] = {
    "majority_class": (majority_class, lambda d: (np.zeros(2, np.int64),)),
    "no_change": (no_change, lambda d: (np.ones(1),)),
    "perceptron": (perceptron, lambda d: (np.zeros(d),)),
    "pa1": (pa1, lambda d: (np.zeros(d),)),
    "pa": (passive_aggressive, lambda d: (0.0, np.zeros(d))),
    "pa2": (passive_aggressive, lambda d: (50.0, np.zeros(d))),
    "ogd_hinge": (hinge_descent, lambda d: (np.zeros(d),)),
    "ogd_logistic": (logistic_descent, lambda d: (2**62, np.zeros(d))),
    "ogd_square": (square_descent, lambda d: (np.zeros(d),)),
    "restarted_ogd": (logistic_descent, lambda d: (1000, np.zeros(d))),
    "pegasos": (pegasos, lambda d: (np.zeros(d),)),
    "p_norm_perceptron": (additive, lambda d: (1.0, 0.0, 1.0, np.inf, np.zeros(d))),
    "norma": (additive, lambda d: (0.1, 1.0, 0.999, np.inf, np.zeros(d))),
    "norma_zero_margin": (additive, lambda d: (0.1, 0.0, 0.999, np.inf, np.zeros(d))),
    "alma": (additive, lambda d: (0.1, 1.0, 1.0, 10.0, np.zeros(d))),
    "alma_zero_margin": (additive, lambda d: (0.1, 0.0, 1.0, 10.0, np.zeros(d))),
    "aromma": (relaxed_margin, lambda d: (np.zeros(d), np.ones(1))),
    "winnow": (winnow, lambda d: (np.zeros(d), np.zeros(d))),
}
