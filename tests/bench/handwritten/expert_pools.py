"""More ensembles, written by hand: the experts' arrays have one more axis in front."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import poisson, seed
from tests.bench.handwritten.ensembles import naive_bayes
from tests.bench.handwritten.loop import Loop

MOST = 10


@kernel
def absorb_moments(x, label, n, m, v):
    n[label] += 1.0
    for j in range(len(x)):
        delta = x[j] - m[label, j]
        m[label, j] += delta / n[label]
        v[label, j] += delta * (x[j] - m[label, j])


@kernel
def absorb_squares(x, y, s, w, P, k):
    d = len(x)
    h = 1.0
    for i in range(d):
        k[i] = 0.0
        for j in range(d):
            k[i] += P[i, j] * x[j]
        h += x[i] * k[i]
    for i in range(d):
        w[i] += (y - s) / h * k[i]
        for j in range(d):
            P[i, j] -= k[i] * k[j] / h


@kernel
def add_exp_d(rows, y, score, weight, alive, n, m, v, votes):
    for t in range(len(y)):
        s = 0.0
        for e in range(alive[0]):
            votes[e] = 1.0 if naive_bayes(rows[t], n[e], m[e], v[e]) >= 0.0 else -1.0
            s += weight[e] * votes[e]
        score[t, 0] = s
        label = int(y[t])
        total = 0.0
        least = 0
        for e in range(alive[0]):
            if (votes[e] > 0.0) != (label == 1):
                weight[e] *= 0.5
            total += weight[e]
            least = e if weight[e] < weight[least] else least
        if (s >= 0.0) != (label == 1):
            born = 0.1 * total
            if alive[0] == MOST:
                alive[0] -= 1
                total -= weight[least]
                for e in range(least, alive[0]):
                    weight[e], n[e], m[e], v[e] = weight[e + 1], n[e + 1], m[e + 1], v[e + 1]
            e = alive[0]
            weight[e], n[e], m[e], v[e] = born, 0.0, 0.0, 0.0
            total += born
            alive[0] += 1
        for e in range(alive[0]):
            weight[e] /= total
            absorb_moments(rows[t], label, n[e], m[e], v[e])


@kernel
def online_bagging(rows, y, score, generator, n, m, v, again):
    for t in range(len(y)):
        score[t, 0] = 0.0
        for e in range(MOST):
            score[t, 0] += (1.0 if naive_bayes(rows[t], n[e], m[e], v[e]) >= 0.0 else -1.0) / MOST
        for e in range(MOST):
            for k in range(poisson(generator, 1.0)):
                if k > 0:  # of most learners the lesson begins with the score
                    again[e] = naive_bayes(rows[t], n[e], m[e], v[e])
                absorb_moments(rows[t], int(y[t]), n[e], m[e], v[e])


@kernel
def add_exp_c(rows, y, score, weight, alive, bounds, w, P, k, outputs):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for e in range(alive[0]):
            outputs[e] = 0.0
            for j in range(d):
                outputs[e] += w[e, j] * rows[t, j]
            s += weight[e] * min(max(outputs[e], bounds[0]), bounds[1])
        score[t, 0] = s
        bounds[0] = min(bounds[0], y[t]) if t > 0 else y[t]
        bounds[1] = max(bounds[1], y[t]) if t > 0 else y[t]
        width = bounds[1] - bounds[0] if bounds[1] > bounds[0] else np.inf
        s = 0.0
        missed = 0.0
        total = 0.0
        least = 0
        for e in range(alive[0]):
            output = min(max(outputs[e], bounds[0]), bounds[1])
            s += weight[e] * output
            error = abs(output - y[t]) / width
            missed += weight[e] * error
            weight[e] *= 0.5**error
            total += weight[e]
            least = e if weight[e] < weight[least] else least
        if abs(s - y[t]) / width >= 0.05:
            if alive[0] == MOST:
                alive[0] -= 1
                total -= weight[least]
                for e in range(least, alive[0]):
                    weight[e], w[e], P[e], outputs[e] = weight[e + 1], w[e + 1], P[e + 1], outputs[e + 1]
            e = alive[0]
            weight[e], w[e], P[e], outputs[e] = 0.1 * missed, 0.0, 0.0, 0.0
            for j in range(d):
                P[e, j, j] = 1.0
            total += weight[e]
            alive[0] += 1
        for e in range(alive[0]):
            weight[e] /= total
            absorb_squares(rows[t], y[t], outputs[e], w[e], P[e], k)


def moments(most: int, d: int) -> tuple[np.ndarray, ...]:
    return np.zeros((most, 2)), np.zeros((most, 2, d)), np.zeros((most, 2, d))


def one_expert(most: int) -> tuple[np.ndarray, np.ndarray]:
    weight = np.zeros(most)
    weight[0] = 1.0
    return weight, np.ones(1, np.int64)


def generator() -> np.ndarray:
    words = np.zeros(4, np.uint64)
    seed(words, np.uint64(1))
    return words


def squares(most: int, d: int) -> tuple[np.ndarray, ...]:
    return np.zeros((most, d)), np.stack([np.eye(d)] * most), np.zeros(d)


PLAIN: dict[str, Loop] = {
    "add_exp_d": (add_exp_d, lambda d: (*one_expert(MOST), *moments(MOST, d), np.zeros(MOST))),
    "online_bagging": (online_bagging, lambda d: (generator(), *moments(MOST, d), np.zeros(MOST))),
    "add_exp_c": (add_exp_c, lambda d: (*one_expert(MOST), np.zeros(2), *squares(MOST, d), np.zeros(MOST))),
}
