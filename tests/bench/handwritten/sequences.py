"""State-space learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal, seed, uniform
from tests.bench.handwritten.loop import Loop

MOST = np.log(1e12 - 1.0)
"""Bound of the particles' score."""


@kernel
def hmm_filter(rows, y, score, p, NA, NB, A, B, J, S):
    M, K = NB.shape
    for t in range(len(y)):
        S[:] = 0.0
        for i in range(M):
            total = 0.0
            for j in range(M):
                total += NA[i, j]
            for j in range(M):
                A[i, j] = NA[i, j] / total
            total = 0.0
            for c in range(K):
                total += NB[i, c]
            for c in range(K):
                B[i, c] = NB[i, c] / total
        for i in range(M):
            for j in range(M):
                for c in range(K):
                    S[c] += p[i] * A[i, j] * B[j, c]
        score[t, 0] = np.log(S[1] / S[0])
        label = int(y[t])
        for i in range(M):
            for j in range(M):
                J[i, j] = p[i] * A[i, j] * B[j, label] / S[label]
        for j in range(M):
            p[j] = 0.0
            for i in range(M):
                p[j] += J[i, j]
                start = 9.0 if i == j else 1.0
                NA[i, j] = start + 0.999 * (NA[i, j] - start) + J[i, j]
            for c in range(K):
                start = 101.0 if c == j % K else 1.0
                NB[j, c] = start + 0.999 * (NB[j, c] - start)
            NB[j, label] += p[j]


@kernel
def particle_filter(rows, y, score, W, lw, generator, m, drawn):
    n, d = W.shape
    for t in range(len(y)):
        p, q = 0.0, 0.0
        for i in range(n):
            m[i] = 0.0
            for j in range(d):
                m[i] += W[i, j] * rows[t, j]
            odds = np.exp(-m[i])
            p += np.exp(lw[i]) / (1.0 + odds)
            q += np.exp(lw[i]) * odds / (1.0 + odds)
        score[t, 0] = min(max(np.log(p / q), -MOST), MOST)
        label = 2.0 * y[t] - 1.0
        largest = -np.inf
        for i in range(n):
            lw[i] -= np.log(1.0 + np.exp(-label * m[i]))
            largest = max(largest, lw[i])
        total, squares = 0.0, 0.0
        for i in range(n):
            lw[i] -= largest
            total += np.exp(lw[i])
            squares += np.exp(2.0 * lw[i])
        if total * total / squares < 0.5 * n:
            u, last, below = uniform(generator), 0, np.exp(lw[0]) / total
            for i in range(n):
                while below < (u + i) / n and last < n - 1:
                    last += 1
                    below += np.exp(lw[last]) / total
                drawn[i] = W[last]
            W[:] = drawn
            lw[:] = 0.0
        for i in range(n):
            for j in range(d):
                W[i, j] += np.sqrt(1e-3) * normal(generator)


def particles(d):
    """What the filter of seed 1 starts with."""
    generator = np.zeros(4, np.uint64)
    seed(generator, np.uint64(1))
    W = np.array([[normal(generator) for _ in range(d)] for _ in range(200)])
    return W, np.zeros(200), generator, np.empty(200), np.empty((200, d))


PLAIN: dict[str, Loop] = {
    "hmm_filter": (
        hmm_filter,
        lambda d: (
            np.full(2, 0.5),
            1.0 + 8.0 * np.eye(2),
            1.0 + 100.0 * np.eye(2),
            np.empty((2, 2)),
            np.empty((2, 2)),
            np.empty((2, 2)),
            np.empty(2),
        ),
    ),
    "particle_filter": (particle_filter, particles),
}
