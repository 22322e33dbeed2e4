"""Local and deep learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.random import normal, seed
from tests.bench.handwritten.loop import Loop


@kernel
def lol(rows, y, score, cent, cnt, used, w, U):
    m, n = cent.shape
    d = len(w)
    for t in range(len(y)):
        nearest, least = -1, np.inf
        for j in range(used[0]):
            squared = 0.0
            for i in range(n):
                squared += (rows[t, i] - cent[j, i]) ** 2
            if squared < least:
                nearest, least = j, squared
        s, x2, label = 0.0, 0.0, 2.0 * y[t] - 1.0
        for i in range(d):
            if nearest >= 0:
                s += (w[i] + U[nearest, i]) * rows[t, i]
            x2 += rows[t, i] * rows[t, i]
        score[t, 0] = s
        if used[0] < m and least > 0.0:
            nearest = used[0]
            used[0] += 1
        tau = min(0.1, max(0.0, 1.0 - label * s) / (2.0 * x2)) * label
        for i in range(d):
            w[i] += tau * rows[t, i]
            U[nearest, i] += tau * rows[t, i]
        cnt[nearest] += 1
        for i in range(n):
            cent[nearest, i] += (rows[t, i] - cent[nearest, i]) / min(cnt[nearest], 1000)


@kernel
def hbp(rows, y, score, H1, H2, b, heads, bare, alpha, h, delta, f, loss):
    d, W = H1.shape
    for t in range(len(y)):
        x = rows[t]
        for u in range(W):
            h[0, u] = b[0, u]
            h[1, u] = b[1, u]
        for j in range(d):
            for u in range(W):
                h[0, u] += x[j] * H1[j, u]
        for u in range(W):
            h[0, u] = max(h[0, u], 0.0)
        for j in range(W):
            if h[0, j] > 0.0:
                for u in range(W):
                    h[1, u] += h[0, j] * H2[j, u]
        for u in range(W):
            h[1, u] = max(h[1, u], 0.0)
        f[0], f[1], f[2] = bare[d], heads[0, W], heads[1, W]
        below = 1.0
        for j in range(d):
            f[0] += bare[j] * x[j]
            below += x[j] * x[j]
        for u in range(W):
            f[1] += heads[0, u] * h[0, u]
            f[2] += heads[1, u] * h[1, u]
        score[t, 0] = alpha[0] * f[0] + alpha[1] * f[1] + alpha[2] * f[2]
        label = 2.0 * y[t] - 1.0
        for i in range(3):
            margin = label * f[i]
            loss[i] = log(1.0 + exp(-abs(margin))) + max(-margin, 0.0)
            f[i] = -alpha[i] * label / (1.0 + exp(margin))
        squared = f[0] * f[0] * below
        above, between, second = 1.0, 1.0, 0.0
        for u in range(W):
            delta[1, u] = f[2] * heads[1, u] if h[1, u] > 0.0 else 0.0
            second += delta[1, u] * delta[1, u]
            above += h[1, u] * h[1, u]
            between += h[0, u] * h[0, u]
        for j in range(W):
            delta[0, j] = 0.0
            if h[0, j] > 0.0:
                total = f[1] * heads[0, j]
                for u in range(W):
                    total += H2[j, u] * delta[1, u]
                delta[0, j] = total
            squared += delta[0, j] * delta[0, j] * below
        squared += (f[1] * f[1] + second) * between + f[2] * f[2] * above
        length = np.sqrt(squared)
        eta = 0.15 if length <= 1.7 else 0.15 * 1.7 / length
        bare[d] -= eta * f[0]
        for j in range(d):
            bare[j] -= eta * f[0] * x[j]
            for u in range(W):
                H1[j, u] -= eta * x[j] * delta[0, u]
        for j in range(W):
            if h[0, j] > 0.0:
                for u in range(W):
                    H2[j, u] -= eta * h[0, j] * delta[1, u]
        for i in range(2):
            heads[i, W] -= eta * f[i + 1]
            for u in range(W):
                b[i, u] -= eta * delta[i, u]
                heads[i, u] -= eta * f[i + 1] * h[i, u]
        total = 0.0
        for i in range(3):
            alpha[i] = max(alpha[i] * exp(log(0.99) * min(loss[i], 1.0)), 0.5 / 3.0)
            total += alpha[i]
        for i in range(3):
            alpha[i] /= total


def network(d: int, W: int = 32) -> tuple[np.ndarray, ...]:
    """The arrays of `hbp` at the start."""
    generator = np.zeros(4, np.uint64)
    seed(generator, np.uint64(1))
    first, second = ([[np.sqrt(2.0 / n) * normal(generator) for _ in range(n)] for _ in range(W)] for n in (d, W))
    layers = (np.ascontiguousarray(np.array(layer).T) for layer in (first, second))
    classifiers = np.zeros((2, W + 1)), np.zeros(d + 1), np.full(3, 1.0 / 3.0)
    return (*layers, np.zeros((2, W)), *classifiers, np.zeros((2, W)), np.zeros((2, W)), np.zeros(3), np.zeros(3))


PLAIN: dict[str, Loop] = {
    "lol": (
        lol,
        lambda d: (
            np.zeros((10, d - 1)),
            np.zeros(10, np.int64),
            np.zeros(1, np.int64),
            np.zeros(d),
            np.zeros((10, d)),
        ),
    ),
    "hbp": (hbp, network),
}
