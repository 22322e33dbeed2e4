"""Learners on a window, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import permute, seed
from tests.bench.handwritten.loop import Loop


@kernel
def knn(rows, y, score, X, Y, taken):
    size, d = X.shape
    for row in range(len(y)):
        t = taken[0]
        minus, plus = np.inf, np.inf
        for i in range(min(t, size)):
            squared = 0.0
            for j in range(d):
                squared += (rows[row, j] - X[i, j]) ** 2
            if Y[i] > 0.0:
                plus = min(plus, squared)
            else:
                minus = min(minus, squared)
        near, far = np.sqrt(plus), np.sqrt(minus)
        if t == 0 or near == far:
            score[row, 0] = 0.0
        elif np.isinf(near) or np.isinf(far):
            score[row, 0] = -1.0 if np.isinf(near) else 1.0
        else:
            score[row, 0] = (far - near) / (far + near)
        X[t % size] = rows[row]
        Y[t % size] = y[row]
        taken[0] += 1


@kernel
def descend(w, alpha, order, X, Y, generator):
    """One training at C = 1, tol = 1e-3, at most 10 sweeps, which are counted."""
    d, sweeps = len(w), 0
    for _ in range(10):
        sweeps += 1
        permute(generator, order)
        highest, lowest = -np.inf, np.inf
        for place in range(len(order)):
            i = int(order[place])
            margin, square = 0.0, 0.0
            for j in range(d):
                margin += w[j] * X[i, j]
                square += X[i, j] * X[i, j]
            G = Y[i] * margin - 1.0
            PG = min(G, 0.0) if alpha[i] == 0.0 else max(G, 0.0) if alpha[i] == 1.0 else G
            highest, lowest = max(highest, PG), min(lowest, PG)
            if abs(PG) > 1e-12:
                new = min(max(alpha[i] - G / square, 0.0), 1.0)
                for j in range(d):
                    w[j] += (new - alpha[i]) * Y[i] * X[i, j]
                alpha[i] = new
        if highest - lowest < 1e-3:
            break
    return sweeps


@kernel
def sliding(rows, y, score, w, X, Y, alpha, order, generator, taken):
    size, d = X.shape
    for row in range(len(y)):
        s, slot = 0.0, taken[0] % size
        for j in range(d):
            s += w[j] * rows[row, j]
        score[row, 0] = s
        for j in range(d):
            w[j] -= alpha[slot] * Y[slot] * X[slot, j]
            X[slot, j] = rows[row, j]
        alpha[slot], Y[slot] = 0.0, 2.0 * y[row] - 1.0
        taken[0] += 1
        n = min(taken[0], size)
        for i in range(n):
            order[i] = i
        descend(w, alpha, order[:n], X, Y, generator)


@kernel
def fixed(rows, y, score, w, X, Y, alpha, order, generator, taken, ready, trial):
    size, d = X.shape
    for row in range(len(y)):
        s, t = 0.0, taken[0]
        taken[0] += 1
        for j in range(d):
            s += w[j] * rows[row, j]
            X[t % size, j] = rows[row, j]
        score[row, 0] = s
        Y[t % size] = 2.0 * y[row] - 1.0
        if t % 100 == 99:
            n = min(t + 1, size)
            for i in range(n):
                order[i] = (t + 1 - n + i) % size
            trial[:] = 0.0
            alpha[:] = 0.0
            visits = n * descend(trial, alpha, order[:n], X, Y, generator)
            ready[0] = t + (visits - 1) // (10 * size // 10)
        if t == ready[0]:
            w[:] = trial


@kernel
def adaptive(rows, y, score, w, X, Y, alpha, order, generator, taken, ready, trial, best):
    size, d = X.shape
    for row in range(len(y)):
        s, t = 0.0, taken[0]
        taken[0] += 1
        for j in range(d):
            s += w[j] * rows[row, j]
            X[t % size, j] = rows[row, j]
        score[row, 0] = s
        Y[t % size] = 2.0 * y[row] - 1.0
        if t == ready[0]:
            w[:] = best
        if t % 100 != 99:
            continue
        fewest, visits = 101, 0
        for n in range(100, min(t + 1, size) + 1, 100):
            longest = 0.0
            for i in range(n):
                slot = (t + 1 - n + i) % size
                order[i] = slot
                square = 0.0
                for j in range(d):
                    square += X[slot, j] * X[slot, j]
                longest = max(longest, square)
            trial[:] = 0.0
            alpha[:] = 0.0
            visits += n * descend(trial, alpha, order[:n], X, Y, generator)
            errors = 0
            for k in range(t - 99, t + 1):
                i, margin = k % size, 0.0
                for j in range(d):
                    margin += trial[j] * X[i, j]
                errors += alpha[i] * longest + max(1.0 - Y[i] * margin, 0.0) >= 1.0
            if errors <= fewest:
                fewest = errors
                best[:] = trial
        ready[0] = t + (visits - 1) // 21_000
        if t == ready[0]:
            w[:] = best


def machine(size, *more):
    """What a support vector machine of seed 1 starts with; `more` vectors of the features."""

    def make(d):
        generator = np.zeros(4, np.uint64)
        seed(generator, np.uint64(1))
        window = np.zeros((size, d)), np.zeros(size)
        return (
            np.zeros(d),
            *window,
            np.zeros(size),
            np.empty(size),
            generator,
            np.zeros(1, np.int64),
            *(np.full(1, -1) for _ in more[:1]),
            *(np.zeros(d) for _ in more),
        )

    return make


PLAIN: dict[str, Loop] = {
    "knn_win": (knn, lambda d: (np.zeros((1000, d)), np.zeros(1000), np.zeros(1, np.int64))),
    "svm_win": (sliding, machine(200)),
    "svm_fix": (fixed, machine(500, "trial")),
    "svm_ada": (adaptive, machine(2000, "trial", "best")),
}
