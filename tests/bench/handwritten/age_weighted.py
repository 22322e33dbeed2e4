"""Ensembles of experts with a span of the past each, written by hand over gradient descent on the logistic loss."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import seed, uniform
from tests.bench.handwritten.loop import Loop


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
def flh(rows, y, score, weight, p, until, s, learned):
    for row in range(len(y)):
        x, label = rows[row], 2.0 * y[row] - 1.0
        learned[0] += 1
        t = learned[0]
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
        score[row, 0] = mixed
        total = 0.0
        for i in range(len(p)):
            if p[i] > 0.0:
                p[i] *= np.exp(-loss_of(label * s[i]))
                total += p[i]
                descend(weight[i], x, label, s[i], 0.1)
        for i in range(len(p)):
            p[i] /= total


@kernel
def saol(rows, y, score, weight, w, s, loss, learned):
    scales = 0
    for row in range(len(y)):
        x, label = rows[row], 2.0 * y[row] - 1.0
        learned[0] += 1
        t = learned[0]
        while t >= 1 << scales:
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
        score[row, 0] = mixed / total
        for j in range(scales):
            loss[j] = loss_of(label * s[j])
            mean += w[j] * loss[j] / total
            descend(weight[j], x, label, s[j], 0.1)
        for j in range(scales):
            w[j] *= 1.0 + min(0.5, 2.0 ** (-0.5 * j)) * (mean - loss[j])


@kernel
def adaboost_ol(rows, y, score, weight, steps, alpha, v, generator, h, s, counts):
    n = len(alpha)
    learned, prefix = counts
    for t in range(len(y)):
        x, label = rows[t], 2.0 * y[t] - 1.0
        total = 0.0
        for i in range(n):
            s[i] = inner(weight[i], x)
            h[i] = 1.0 if s[i] >= 0.0 else -1.0
            if i <= prefix:
                total += alpha[i] * h[i]
        score[t, 0] = total
        learned += 1
        sigma, largest = 0.0, -np.inf
        for i in range(n):
            omega = 1.0 / (1.0 + np.exp(sigma))
            sigma += alpha[i] * h[i] * label
            gain = 4.0 / np.sqrt(learned) * h[i] * label / (1.0 + np.exp(sigma))
            alpha[i] = min(2.0, max(-2.0, alpha[i] + gain))
            if (sigma * label >= 0.0) != (label > 0.0):
                v[i] -= 1.0
            largest = max(largest, v[i])
            if uniform(generator) < omega:
                steps[i] += 1.0
                descend(weight[i], x, label, s[i], 1.0 / np.sqrt(steps[i]))
        total = 0.0
        for i in range(n):
            v[i] -= largest
            total += np.exp(v[i])
        point, prefix, below = uniform(generator) * total, 0, np.exp(v[0])
        while below <= point and prefix < n - 1:
            prefix += 1
            below += np.exp(v[prefix])
    counts[0], counts[1] = learned, prefix


def counted(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays, and counters that go on from one batch to the next."""
    return *arrays, np.zeros(2, np.int64)


def boosting(d: int) -> tuple[np.ndarray, ...]:
    """The arrays of `adaboost_ol` at the start."""
    generator = np.zeros(4, np.uint64)
    seed(generator, np.uint64(1))
    *arrays, counts = counted(
        np.zeros((20, d)), np.zeros(20), np.zeros(20), np.zeros(20), generator, np.zeros(20), np.zeros(20)
    )
    counts[1] = 19
    return *arrays, counts


@kernel
def condor(rows, y, score, weight, model, loss, beta, mean, counts):
    d, (most, _) = rows.shape[1], model.shape
    epochs, c = counts
    for t in range(len(y)):
        x, label = rows[t], 2.0 * y[t] - 1.0
        s = inner(weight, x)
        score[t, 0] = s
        models = min(epochs, most)
        mean[:] = 0.0
        for k in range(models):
            for j in range(d):
                mean[j] += beta[k] * model[k, j]
        step = 0.1 * label / (1.0 + np.exp(label * s))
        for j in range(d):
            weight[j] += step * x[j] - 0.001 * (weight[j] - mean[j])
        c += 1
        rate = np.sqrt(8.0 * np.log(max(models, 2)) / c)
        least, total = np.inf, 0.0
        for k in range(models):
            loss[k] += loss_of(label * inner(model[k], x))
            least = min(least, loss[k])
        for k in range(models):
            beta[k] = np.exp(rate * (least - loss[k]))
            total += beta[k]
        for k in range(models):
            beta[k] /= total
        if c == 500:
            model[epochs % most] = weight
            epochs += 1
            loss[:] = 0.0
            beta[:] = 1.0 / min(epochs, most)
            c = 0
    counts[0], counts[1] = epochs, c


@kernel
def projected(rows, y, score, weight):
    for t in range(len(y)):
        x = rows[t]
        s = inner(weight, x)
        score[t, 0] = s
        step = min(0.1, 1.0 / inner(x, x)) * (y[t] - s)
        for j in range(len(x)):
            weight[j] += step * x[j]
        norm = np.sqrt(inner(weight, weight))
        if norm > 10.0:
            weight *= 10.0 / norm


@kernel
def eos_elm(rows, y, score, A, b, beta, P, phi, k, s, mean, counts):
    n, hidden, _ = A.shape
    for t in range(len(y)):
        x, label = rows[t], 2.0 * y[t] - 1.0
        total = 0.0
        for i in range(n):
            for r in range(hidden):
                phi[i, r] = 1.0 / (1.0 + np.exp(-inner(A[i, r], x) - b[i, r]))
            s[i] = inner(beta[i], phi[i])
            total += s[i]
        score[t, 0] = mean[0] if counts[0] < 2 * hidden else total / n
        counts[0] += 1
        mean[0] += (label - mean[0]) / counts[0]
        for i in range(n):
            h = 1.0
            for r in range(hidden):
                k[r] = inner(P[i, r], phi[i])
                h += phi[i, r] * k[r]
            for r in range(hidden):
                beta[i, r] += k[r] * (label - s[i]) / h
                for c in range(hidden):
                    P[i, r, c] -= k[r] * k[c] / h


def networks(d: int) -> tuple[np.ndarray, ...]:
    """The arrays of `eos_elm` at the start."""
    generator = np.zeros(4, np.uint64)
    seed(generator, np.uint64(1))
    A, b = np.zeros((5, 20, d)), np.zeros((5, 20))
    for i in range(5):
        A[i] = [[2.0 * uniform(generator) - 1.0 for _ in range(d)] for _ in range(20)]
        b[i] = [uniform(generator) for _ in range(20)]
    P = np.array([np.eye(20) * 1e3] * 5)
    return counted(A, b, np.zeros((5, 20)), P, np.zeros((5, 20)), np.zeros(20), np.zeros(5), np.zeros(1))


PLAIN: dict[str, Loop] = {
    "flh": (
        flh,
        lambda d: counted(np.zeros((144, d)), np.zeros(144), np.zeros(144, np.int64), np.zeros(144)),
    ),
    "saol": (saol, lambda d: counted(np.zeros((48, d)), np.zeros(48), np.zeros(48), np.zeros(48))),
    "adaboost_ol": (adaboost_ol, boosting),
    "condor": (
        condor,
        lambda d: counted(np.zeros(d), np.zeros((25, d)), np.zeros(25), np.zeros(25), np.zeros(d)),
    ),
    "mod_ogd_projected": (projected, lambda d: (np.zeros(d),)),
    "eos_elm": (eos_elm, networks),
}
