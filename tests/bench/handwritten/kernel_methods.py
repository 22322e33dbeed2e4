"""A budgeted kernel learner, written by hand: stored rows as a matrix, the bandwidth by the learners' own rule."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.kernel_methods.bandwidth import measure, prefer
from tests.bench.handwritten.loop import Loop

BUDGET = 100


@kernel
def kernel_norma(rows, y, score, Z, a, k, found, distances, tried, lead, right):
    gamma, taken, B, scale = 1.0 / rows.shape[1], 0, len(Z), 1.0
    for row in range(len(y)):
        n = min(taken, B)
        values(rows[row], Z, n, gamma, k)
        s = scale * weighed(a, k, n)
        score[row, 0] = s
        label = 2.0 * y[row] - 1.0
        if found[0] > 0.0 and others(label, a, k, n, found, tried, lead, right):
            gamma = found[0]
            values(rows[row], Z, n, gamma, k)
            s = scale * weighed(a, k, n)
        scale *= 1.0 - 0.3 * 0.01
        if scale < 1e-100:
            a *= scale
            scale = 1.0
        if label * s <= 0.5:
            Z[taken % B] = rows[row]
            a[taken % B] = 0.3 * label / scale
            taken += 1
            gamma = follow(Z, min(taken, B), taken, gamma, found, distances, tried)


@kernel
def values(x, Z, n, gamma, k):
    for i in range(n):
        squared = 0.0
        for j in range(len(x)):
            squared += (x[j] - Z[i, j]) ** 2
        k[i] = np.exp(-gamma * squared)


@kernel
def weighed(a, k, n):
    s = 0.0
    for i in range(n):
        s += a[i] * k[i]
    return s


@kernel
def follow(Z, n, taken, gamma, found, distances, tried):
    """Return the bandwidth to use after the last stored row."""
    if taken == 32 or taken % len(Z) == 0:
        column = np.empty((Z.shape[1], len(Z)))
        for i in range(n):
            for j in range(Z.shape[1]):
                column[j, i] = Z[i, j]
        measure(column, n, 4.0 ** tried[0], gamma, found, distances)
        return found[0] if found[0] > 0.0 else gamma
    return gamma


@kernel
def others(label, a, k, n, found, tried, lead, right):
    """Return whether one of the four candidate bandwidths has replaced the current one."""
    sums = np.zeros(4)
    for i in range(n):
        wide = k[i] if tried[0] == 0 else k[i] ** (0.25 ** tried[0])
        for r in range(4):
            sums[r] += a[i] * wide
            wide = wide**4
    for r in range(4):
        right[r] = 1.0 if label * sums[r] > 0.0 else 0.0
    return prefer(right, lead, tried, found)


def expansion(d):
    width = np.zeros(1), np.empty(496), np.zeros(1, np.int64), np.zeros(4), np.empty(4)
    return np.zeros((BUDGET, d)), np.zeros(BUDGET), np.empty(BUDGET), *width


PLAIN: dict[str, Loop] = {"kernel_norma": (kernel_norma, expansion)}
