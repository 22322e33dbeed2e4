"""Ensembles of experts with a span of the past each, written by hand over gradient descent on the logistic loss."""

from __future__ import annotations

import numpy as np

from learners.jit import kernel
from tests.bench.plain.loop import Loop

SCALES = 48


@kernel
def descend(weight, x, label, s, eta):
    step = eta * label / (1.0 + np.exp(label * s))
    for j in range(len(x)):
        weight[j] += step * x[j]


@kernel
def inner(weight, x):
    s = 0.0
    for j in range(len(x)):
        s += weight[j] * x[j]
    return s


@kernel
def loss_of(margin):
    if margin < -1.0:
        return 1.0
    return min(1.0, max(-margin, 0.0) + np.log1p(np.exp(-abs(margin))))


@kernel
def flh(rows, y, score, weight, p, until, s):
    for t in range(1, len(y) + 1):
        x, label = rows[t - 1], 2.0 * y[t - 1] - 1.0
        k = 0
        while (t >> k) & 1 == 0:
            k += 1
        born = 3 * k + (t >> (k + 1)) % 3
        total = 0.0
        for i in range(len(p)):
            if until[i] >= t:
                p[i] *= 1.0 - 1.0 / t
                total += p[i]
            else:
                p[i] = 0.0
        p[born], until[born] = 1.0 / t, t + (4 << k)
        weight[born] = 0.0
        total += p[born]
        mixed = 0.0
        for i in range(len(p)):
            if p[i] > 0.0:
                p[i] /= total
                s[i] = inner(weight[i], x)
                mixed += p[i] * s[i]
        score[t - 1, 0] = mixed
        total = 0.0
        for i in range(len(p)):
            if p[i] > 0.0:
                p[i] *= np.exp(-loss_of(label * s[i]))
                total += p[i]
                descend(weight[i], x, label, s[i], 0.1)
        for i in range(len(p)):
            p[i] /= total


@kernel
def saol(rows, y, score, weight, w, s, loss):
    scales = 0
    for t in range(1, len(y) + 1):
        x, label = rows[t - 1], 2.0 * y[t - 1] - 1.0
        if t == 1 << scales:
            scales += 1
        j = 0
        while t % (1 << j) == 0:
            weight[j] = 0.0
            w[j] = min(0.5, 2.0 ** (-0.5 * j))
            j += 1
        mixed, total, mean = 0.0, 0.0, 0.0
        for j in range(scales):
            s[j] = inner(weight[j], x)
            mixed += w[j] * s[j]
            total += w[j]
        score[t - 1, 0] = mixed / total
        for j in range(scales):
            loss[j] = loss_of(label * s[j])
            mean += w[j] * loss[j] / total
            descend(weight[j], x, label, s[j], 0.1)
        for j in range(scales):
            w[j] *= 1.0 + min(0.5, 2.0 ** (-0.5 * j)) * (mean - loss[j])


PLAIN: dict[str, Loop] = {
    "flh": (
        flh,
        lambda d: (
            np.zeros((3 * SCALES, d)),
            np.zeros(3 * SCALES),
            np.zeros(3 * SCALES, np.int64),
            np.zeros(3 * SCALES),
        ),
    ),
    "saol": (saol, lambda d: (np.zeros((SCALES, d)), np.zeros(SCALES), np.zeros(SCALES), np.zeros(SCALES))),
}
