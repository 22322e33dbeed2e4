"""Ensembles that get an expert per window or batch of rows, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.ensembles import naive_bayes
from tests.bench.handwritten.expert_pools import MOST, absorb_moments, moments
from tests.bench.handwritten.loop import Loop


@kernel
def oaue(rows, y, score, known, weight, mse, born, error, counts, seen, n, m, v, chance):
    window = len(seen)
    for t in range(len(y)):
        experts, learned = known
        p = 0.0
        total = 0.0
        if experts == 0:
            s = naive_bayes(rows[t], n[MOST], m[MOST], v[MOST]) if learned > 0 else 0.0
            p = 1.0 / (1.0 + np.exp(-s))
            total = 1.0
        for e in range(experts):
            chance[e] = 1.0 / (1.0 + np.exp(-naive_bayes(rows[t], n[e], m[e], v[e])))
            p += weight[e] * chance[e]
            total += weight[e]
        score[t, 0] = 2.0 * p / total - 1.0
        label = int(y[t])
        slot = learned % window
        if learned >= window:
            counts[int(seen[slot])] -= 1.0
        counts[label] += 1.0
        seen[slot] = label
        share = counts[1] / (counts[0] + counts[1])
        guess = share * (1.0 - share)
        for e in range(experts):
            off = (1.0 - chance[e] if label == 1 else chance[e]) ** 2
            age = learned + 1 - born[e]
            if age <= window:
                mse[e] += (off - mse[e]) / age
            else:
                mse[e] += (off - error[e, slot]) / window
            error[e, slot] = off
            weight[e] = 1.0 / (guess + mse[e] + 1e-12)
            absorb_moments(rows[t], label, n[e], m[e], v[e])
        absorb_moments(rows[t], label, n[MOST], m[MOST], v[MOST])
        if slot == window - 1:
            e = experts if experts < MOST else weight.argmin()
            if experts < MOST or weight[e] < 1.0 / (guess + 1e-12):
                weight[e], mse[e], born[e] = 1.0 / (guess + 1e-12), 0.0, learned + 1
                n[e], m[e], v[e] = n[MOST], m[MOST], v[MOST]
                known[0] = max(experts, e + 1)
            n[MOST], m[MOST], v[MOST] = 0.0, 0.0, 0.0
        known[1] += 1


@kernel
def learn_pp_nse(rows, y, score, known, weight, sums, costs, born, D, n, m, v):
    batch = len(D)
    for t in range(len(y)):
        experts, number = known
        score[t, 0] = vote(rows[t], experts, weight, n, m, v)
        if (t + 1) % batch != 0:
            continue
        first = t + 1 - batch
        wrong = 0.0
        for i in range(batch):
            right = (vote(rows[first + i], experts, weight, n, m, v) >= 0.0) == (y[first + i] == 1.0)
            D[i] = 0.0 if right or experts == 0 else 1.0
            wrong += D[i]
        for i in range(batch):
            D[i] = D[i] + (1.0 - D[i]) * wrong / batch if wrong > 0.0 else 1.0
        D /= D.sum()
        if experts == len(weight):
            experts -= 1
            for e in range(experts):
                weight[e], sums[e], costs[e], born[e] = weight[e + 1], sums[e + 1], costs[e + 1], born[e + 1]
                n[e], m[e], v[e] = n[e + 1], m[e + 1], v[e + 1]
        sums[experts], costs[experts], born[experts] = 0.0, 0.0, number + 1
        n[experts], m[experts], v[experts] = 0.0, 0.0, 0.0
        for i in range(first, t + 1):
            absorb_moments(rows[i], int(y[i]), n[experts], m[experts], v[experts])
        experts += 1
        for e in range(experts):
            error = 0.0
            for i in range(batch):
                if (naive_bayes(rows[first + i], n[e], m[e], v[e]) >= 0.0) != (y[first + i] == 1.0):
                    error += D[i]
            error = min(error, 0.5)
            sigmoid = 1.0 / (1.0 + np.exp(-0.5 * (number + 1 - born[e] - 10.0)))
            sums[e] += sigmoid
            costs[e] += sigmoid * max(error / (1.0 - error), 1e-10)
            weight[e] = max(np.log(sums[e] / costs[e]), 0.0)
        known[0], known[1] = experts, number + 1


@kernel
def vote(x, experts, weight, n, m, v):
    s = 0.0
    total = 0.0
    for e in range(experts):
        s += weight[e] if naive_bayes(x, n[e], m[e], v[e]) >= 0.0 else -weight[e]
        total += weight[e]
    return s / total if total > 0.0 else 0.0


def windowed(d: int) -> tuple[np.ndarray, ...]:
    """The arrays of `oaue`: the candidate comes last."""
    each = np.zeros(2, np.int64), np.zeros(MOST), np.zeros(MOST), np.zeros(MOST, np.int64), np.zeros((MOST, 500))
    return *each, np.zeros(2), np.zeros(500), *moments(MOST + 1, d), np.zeros(MOST)


def batched(d: int) -> tuple[np.ndarray, ...]:
    """The arrays of `learn_pp_nse`."""
    each = np.zeros(15), np.zeros(15), np.zeros(15), np.zeros(15, np.int64)
    return np.zeros(2, np.int64), *each, np.zeros(250), *moments(15, d)


PLAIN: dict[str, Loop] = {"oaue": (oaue, windowed), "learn_pp_nse": (learn_pp_nse, batched)}
