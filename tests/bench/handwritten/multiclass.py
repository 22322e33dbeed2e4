"""Multiclass learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def perceptron(rows, y, score, weight, S):
    K, d = weight.shape
    for t in range(len(y)):
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
        score[t, 0] = S[1] - S[0]
        label = int(y[t])
        rival = 1 if label == 0 else 0
        for r in range(K):
            if r != label and S[r] > S[rival]:
                rival = r
        if S[rival] > S[label] or (S[rival] == S[label] and rival < label):
            for j in range(d):
                weight[label, j] += rows[t, j]
                weight[rival, j] -= rows[t, j]


@kernel
def shared_perceptron(rows, y, score, by_excess, weight, S):
    K, d = weight.shape
    for t in range(len(y)):
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
        score[t, 0] = S[1] - S[0]
        label = int(y[t])
        rival = 1 if label == 0 else 0
        for r in range(K):
            if r != label and S[r] > S[rival]:
                rival = r
        if S[rival] > S[label] or (S[rival] == S[label] and rival < label):
            members, excess = 0, 0.0
            for r in range(K):
                if r != label and S[r] >= S[label]:
                    members += 1
                    excess += S[r] - S[label]
            for r in range(K):
                step = 1.0
                if r != label:
                    if S[r] < S[label]:
                        continue
                    step = -(S[r] - S[label]) / excess if by_excess and excess > 0.0 else -1.0 / members
                for j in range(d):
                    weight[r, j] += step * rows[t, j]


@kernel
def hinge_descent(rows, y, score, weight, S):
    K, d = weight.shape
    for t in range(len(y)):
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
        score[t, 0] = S[1] - S[0]
        label = int(y[t])
        rival = 1 if label == 0 else 0
        for r in range(K):
            if r != label and S[r] > S[rival]:
                rival = r
        if S[label] - S[rival] < 1.0:
            step = 1.0 / np.sqrt(t + 1.0)
            for j in range(d):
                weight[label, j] += step * rows[t, j]
                weight[rival, j] -= step * rows[t, j]


@kernel
def softmax_descent(rows, y, score, weight, S):
    K, d = weight.shape
    for t in range(len(y)):
        largest = -np.inf
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
            largest = max(largest, S[r])
        score[t, 0] = S[1] - S[0]
        total = 0.0
        for r in range(K):
            S[r] = np.exp(S[r] - largest)
            total += S[r]
        for r in range(K):
            step = -(S[r] / total - (r == y[t])) / np.sqrt(t + 1.0)
            for j in range(d):
                weight[r, j] += step * rows[t, j]


@kernel
def passive_aggressive(rows, y, score, cap, ridge, weight, S):
    K, d = weight.shape
    for t in range(len(y)):
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
        score[t, 0] = S[1] - S[0]
        label = int(y[t])
        rival = 1 if label == 0 else 0
        for r in range(K):
            if r != label and S[r] > S[rival]:
                rival = r
        loss = 1.0 - S[label] + S[rival]
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            tau = min(cap, loss / (2.0 * x2 + ridge))
            for j in range(d):
                weight[label, j] += tau * rows[t, j]
                weight[rival, j] -= tau * rows[t, j]


@kernel
def relaxed_margin(rows, y, score, aggressive, weight, S, target):
    K, d = weight.shape
    for t in range(len(y)):
        for r in range(K):
            S[r] = 0.0
            for j in range(d):
                S[r] += weight[r, j] * rows[t, j]
        score[t, 0] = S[1] - S[0]
        label = int(y[t])
        rival = 1 if label == 0 else 0
        for r in range(K):
            if r != label and S[r] > S[rival]:
                rival = r
        m = S[label] - S[rival]
        if (aggressive and m < target[0]) or m <= 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += 2.0 * rows[t, j] * rows[t, j]
            w2 = 0.0
            for r in range(K):
                for j in range(d):
                    w2 += weight[r, j] * weight[r, j]
            c = (x2 * w2 - target[0] * m) / (x2 * w2 - m * m) if w2 > 0.0 else -1.0
            e = w2 * (target[0] - m) / (x2 * w2 - m * m) if c >= 0.0 else target[0] / x2
            c = max(c, 0.0)
            size = 0.0
            for r in range(K):
                step = e if r == label else (-e if r == rival else 0.0)
                for j in range(d):
                    weight[r, j] = c * weight[r, j] + step * rows[t, j]
                    size += weight[r, j] * weight[r, j]
            if size > 1e12:
                for r in range(K):
                    for j in range(d):
                        weight[r, j] *= 1.0 / np.sqrt(size)
                target[0] /= np.sqrt(size)


def weights(d):
    """Two classes, as the streams that the loops are timed on have."""
    return np.zeros((2, d)), np.zeros(2)


PLAIN: dict[str, Loop] = {
    "mc_perceptron_max": (perceptron, weights),
    "mc_perceptron_uniform": (shared_perceptron, lambda d: (False, *weights(d))),
    "mc_perceptron_sim": (shared_perceptron, lambda d: (True, *weights(d))),
    "mc_ogd": (hinge_descent, weights),
    "mc_softmax": (softmax_descent, weights),
    "mc_pa": (passive_aggressive, lambda d: (np.inf, 0.0, *weights(d))),
    "mc_pa1": (passive_aggressive, lambda d: (0.1, 0.0, *weights(d))),
    "mc_pa2": (passive_aggressive, lambda d: (np.inf, 50.0, *weights(d))),
    "mc_romma": (relaxed_margin, lambda d: (False, *weights(d), np.ones(1))),
    "mc_aromma": (relaxed_margin, lambda d: (True, *weights(d), np.ones(1))),
}
