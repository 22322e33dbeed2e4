"""One loop per learner as one would write it by hand: the update of the paper and nothing else.

Each takes rows f8[n, d] (with the intercept's column already there, which the learner has to append), y f8[n],
score f8[n, 1] and its own arrays, and runs at the learner's default parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from learners.jit import kernel


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


@kernel
def least_squares(rows, y, score, forgetting, weight, P, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        h = forgetting
        for i in range(d):
            k[i] = 0.0
            for j in range(d):
                k[i] += P[i, j] * rows[t, j]
            h += rows[t, i] * k[i]
        step = (2.0 * y[t] - 1.0 - s) / h
        for i in range(d):
            weight[i] += step * k[i]
            for j in range(d):
                P[i, j] = (P[i, j] - k[i] * k[j] / h) / forgetting


PHI_70, PHI_75 = 0.5244005127080407, 0.6744897501960817
"""Quantiles of the normal distribution at 0.7 and 0.75."""

Loop = tuple[Callable[..., None], Callable[[int], tuple[Any, ...]]]

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
    "arow": (arow, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "scw1": (confidence_deviation, lambda d: (PHI_75, 1.0, False, np.zeros(d), np.eye(d), np.empty(d))),
    "scw2": (confidence_deviation, lambda d: (PHI_75, 1.0, True, np.zeros(d), np.eye(d), np.empty(d))),
    "cw": (confidence_variance, lambda d: (PHI_70, np.zeros(d), np.eye(d), np.empty(d))),
    "cw_stdev": (confidence_deviation, lambda d: (PHI_70, np.inf, False, np.zeros(d), np.eye(d), np.empty(d))),
    "sop": (sop, lambda d: (np.zeros(d), np.zeros(d), np.eye(d), np.empty(d))),
    "nherd": (nherd, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "narow": (narow, lambda d: (np.zeros(d), np.eye(d), np.empty(d))),
    "iellip": (iellip, lambda d: (np.zeros(d), np.eye(d), np.full(1, 0.1), np.empty(d))),
    "arow_regressor": (least_squares, lambda d: (1.0, np.zeros(d), np.eye(d), np.empty(d))),
    "rls": (least_squares, lambda d: (1.0, np.zeros(d), np.eye(d), np.empty(d))),
    "dfop": (least_squares, lambda d: (0.995, np.zeros(d), np.eye(d), np.empty(d))),
}
"""Learner -> its loop and, for a width, what the loop needs beside rows, labels and scores."""
