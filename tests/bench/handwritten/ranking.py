"""Ranking learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import randint, seed
from tests.bench.handwritten.loop import Loop


@kernel
def oam(rows, y, score, sequential, weight, n, c, sample, generator, pull):
    d, size = len(weight), sample.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * (rows[t, j] - 0.5 * (c[0, j] + c[1, j]))
        score[t, 0] = s
        own = int(y[t])
        label = 2.0 * y[t] - 1.0
        n[own] += 1
        for j in range(d):
            c[own, j] += (rows[t, j] - c[own, j]) / n[own]
            pull[j] = 0.0
        for i in range(min(n[1 - own], size)):
            margin, apart2 = 0.0, 0.0
            for j in range(d):
                apart = rows[t, j] - sample[1 - own, i, j]
                margin += weight[j] * apart
                apart2 += apart * apart
            if sequential:
                if label * margin < 1.0 and apart2 > 0.0:
                    step = min(0.001, (1.0 - label * margin) / apart2) * label
                    for j in range(d):
                        weight[j] += step * (rows[t, j] - sample[1 - own, i, j])
            elif label * margin <= 1.0:
                for j in range(d):
                    pull[j] += rows[t, j] - sample[1 - own, i, j]
        if not sequential:
            for j in range(d):
                weight[j] += 0.001 * label * pull[j]
        slot = n[own] - 1 if n[own] <= size else randint(generator, n[own])
        if slot < size:
            for j in range(d):
                sample[own, slot, j] = rows[t, j]


@kernel
def pairwise(rows, y, score, adaptive, weight, n, c, scatter, G, e, g):
    d = len(weight)
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * (rows[t, j] - 0.5 * (c[0, j] + c[1, j]))
        score[t, 0] = s
        own, other = int(y[t]), 1 - int(y[t])
        n[own] += 1.0
        for j in range(d):
            e[j] = rows[t, j] - c[own, j]
            c[own, j] += e[j] / n[own]
        for i in range(d):
            for j in range(d):
                scatter[own, i, j] += (n[own] - 1.0) / n[own] * e[i] * e[j]
        if n[other] == 0.0:
            continue
        margin, curvature = 0.0, 0.01
        for j in range(d):
            e[j] = rows[t, j] - c[other, j]
            margin += weight[j] * e[j]
            curvature += e[j] * e[j] + scatter[other, j, j] / n[other]
        step = min(0.001, 1.0 / curvature)
        for i in range(d):
            g[i] = 0.0
            for j in range(d):
                g[i] += scatter[other, i, j] * weight[j]
        for i in range(d):
            g[i] = 0.01 * weight[i] + (margin - (2.0 * y[t] - 1.0)) * e[i] + g[i] / n[other]
            if adaptive:
                G[i] += g[i] * g[i]
                step = 0.1 / (np.sqrt(G[i]) + 1e-8)
            weight[i] -= step * g[i]


def sampled(sequential):
    """What a sampling learner of seed 1 starts with."""

    def make(d):
        generator = np.zeros(4, np.uint64)
        seed(generator, np.uint64(1))
        views = np.zeros(d), np.zeros(2, np.int64), np.zeros((2, d)), np.zeros((2, 100, d)), generator
        return sequential, *views, np.empty(d)

    return make


def summarized(adaptive):
    """What a learner that keeps means and covariances starts with."""

    def make(d):
        views = np.zeros(d), np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d)), np.zeros(d)
        return adaptive, *views, np.empty(d), np.empty(d)

    return make


PLAIN: dict[str, Loop] = {
    "oam_seq": (oam, sampled(True)),
    "oam_gra": (oam, sampled(False)),
    "opauc": (pairwise, summarized(False)),
    "adaoam": (pairwise, summarized(True)),
}
