"""Ensembles, written by hand: the experts' arrays have an additional leading axis."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop

MOST = 25


@kernel
def dwm(rows, y, score, weight, alive, n, m, v, votes):
    d = rows.shape[1]
    for t in range(len(y)):
        total = 0.0
        votes_for = 0.0
        for e in range(alive[0]):
            votes[e] = naive_bayes(rows[t], n[e], m[e], v[e])
            total += weight[e]
            votes_for += weight[e] if votes[e] >= 0.0 else -weight[e]
        score[t, 0] = votes_for / total
        label = int(y[t])
        if (t + 1) % 50 == 0:
            votes_for = 0.0
            heaviest = 0.0
            for e in range(alive[0]):
                if (votes[e] >= 0.0) != (label == 1):
                    weight[e] *= 0.5
                votes_for += weight[e] if votes[e] >= 0.0 else -weight[e]
                heaviest = max(heaviest, weight[e])
            kept = 0
            for e in range(alive[0]):
                if weight[e] / heaviest >= 0.01:
                    weight[kept], n[kept], m[kept], v[kept] = weight[e] / heaviest, n[e], m[e], v[e]
                    kept += 1
            if (votes_for >= 0.0) != (label == 1):
                kept = min(kept, MOST - 1)
                weight[kept], n[kept], m[kept], v[kept] = 1.0, 0.0, 0.0, 0.0
                kept += 1
            alive[0] = kept
        for e in range(alive[0]):
            n[e, label] += 1.0
            for j in range(d):
                delta = rows[t, j] - m[e, label, j]
                m[e, label, j] += delta / n[e, label]
                v[e, label, j] += delta * (rows[t, j] - m[e, label, j])


@kernel
def naive_bayes(x, n, m, v):
    if n[0] == 0.0 or n[1] == 0.0:
        return 1.0 if n[1] > 0.0 or n[0] == 0.0 else -1.0
    s = np.log(n[1] / n[0])
    for j in range(len(x)):
        for c in range(2):
            var = max(v[c, j] / n[c], 1e-9)
            s -= (2 * c - 1) * 0.5 * (np.log(var) + (x[j] - m[c, j]) ** 2 / var)
    return s


def pool_of_bayes(d: int) -> tuple[np.ndarray, ...]:
    """Return the initial arrays of `dwm`: one expert."""
    weight = np.zeros(MOST)
    weight[0] = 1.0
    moments = np.zeros((MOST, 2)), np.zeros((MOST, 2, d)), np.zeros((MOST, 2, d))
    return weight, np.ones(1, np.int64), *moments, np.zeros(MOST)


PLAIN: dict[str, Loop] = {"dwm": (dwm, pool_of_bayes)}
