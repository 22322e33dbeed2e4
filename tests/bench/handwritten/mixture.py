"""`auto` on two classes as one loop: sixteen experts and the filter that mixes them, written by hand."""

from __future__ import annotations

import math

import numpy as np

from driftway.learners.auto.random_fourier import WAVES, draw
from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop

E, WINDOW, NEAREST = 16, 512, 5
DRIFTS, KEEPS = (1e-5, 1e-3), (0.999, 0.98)
PROBIT = math.pi / 8.0


@kernel
def sigmoid(m):
    return 1.0 / (1.0 + math.exp(-m))


@kernel
def dot(a, b):
    total = 0.0
    for j in range(len(b)):
        total += a[j] * b[j]
    return total


@kernel
def four_steps(w, x, m, sign, rate, length):
    """Logistic loss, passive-aggressive, squared error of the sigmoid twice; m are the four margins."""
    for e in range(4):
        ahead = sign * m[e]
        p = sigmoid(ahead)
        if e == 0:
            step = 4.0 * rate * (1.0 - p)
        elif e == 1:
            step = max(1.0 - ahead, 0.0)
        else:
            step = 16.0 * (0.05 if e == 2 else 0.3) * (1.0 - p) * p * (1.0 - p)
        step *= sign / length
        for j in range(len(x)):
            w[e, j] += step * x[j]


@kernel
def filter_step(w, P, x, k, lead, sign, drift, most, flattest):
    """One row of logistic regression by a Kalman filter; the sign is that of the step along k."""
    d = len(x)
    for i in range(d):
        if P[i, i] < most:
            P[i, i] += drift
        k[i] = 0.0
    for j in range(d):
        for i in range(d):
            k[i] += P[j, i] * x[j]
    variance = dot(k, x)
    p = sigmoid(lead / math.sqrt(1.0 + PROBIT * variance))
    h = max(p * (1.0 - p), flattest)
    part = 1.0 / (1.0 / h + variance)
    for i in range(d):
        w[i] += sign * (1.0 - p) / h * part * k[i]
    root = math.sqrt(part)
    for i in range(d):
        k[i] *= root
    for i in range(d):
        for j in range(d):
            P[i, j] -= k[i] * k[j]


@kernel
def find_nearest(column, labels, taken, x, distance, least, who):
    n = min(taken, WINDOW)
    distance[:n] = 0.0
    for j in range(len(column)):
        for i in range(n):
            distance[i] += (x[j] - column[j, i]) * (x[j] - column[j, i])
    least[:] = math.inf
    for i in range(n):
        if distance[i] < least[NEAREST - 1]:
            place = NEAREST - 1
            while place > 0 and least[place - 1] > distance[i]:
                least[place], who[place] = least[place - 1], who[place - 1]
                place -= 1
            least[place], who[place] = distance[i], labels[i]


@kernel
def auto(rows, y, score, known, runs, pasts, linear, frequency, phase, waving, filters, P, weight, mean, variance,
         column, labels, mixed, covariance):  # fmt: skip
    d = rows.shape[1]
    z, wave, m, k = np.ones(d + 1), np.empty(WAVES), np.empty(E), np.empty(d + 1)
    said, lead, gain = np.empty(2 * E), np.empty(2 * E), np.empty(2 * E)
    distance, least, who = np.empty(WINDOW), np.empty(NEAREST), np.empty(NEAREST)
    for t in range(len(y)):
        last, run, past, taken = known
        for j in range(d):
            z[j] = min(max(rows[t, j], -6.0), 6.0)
        context, sequence = runs[last * 64 + run], pasts[past]
        m[0] = math.log((context[1] + 0.25) / (context[0] + 0.25))
        m[1] = math.log((sequence[1] + 0.25) / (sequence[0] + 0.25))
        for e in range(4):
            m[2 + e] = dot(linear[e], z)
        for e in range(2):
            m[6 + e] = math.log(weight[e, 1] / weight[e, 0])
            for j in range(d):
                m[6 + e] += 0.5 * (z[j] - mean[e, 0, j]) ** 2 / variance[e, 0, j] + 0.5 * math.log(variance[e, 0, j])
                m[6 + e] -= 0.5 * (z[j] - mean[e, 1, j]) ** 2 / variance[e, 1, j] + 0.5 * math.log(variance[e, 1, j])
        for i in range(WAVES):
            wave[i] = phase[i]
        for j in range(d):
            for i in range(WAVES):
                wave[i] += frequency[j, i] * z[j]
        for i in range(WAVES):
            q = 2.0 * math.pi * (0.25 - abs(wave[i] - np.floor(wave[i] + 0.5)))
            wave[i] = q - q**3 / 6.0 + q**5 / 120.0 - q**7 / 5040.0 + q**9 / 362880.0
        for e in range(4):
            m[8 + e] = dot(waving[e], wave)
        for e in range(2):
            m[12 + e] = dot(filters[e], z)
        find_nearest(column, labels, taken, z, distance, least, who)
        for e in range(2):
            votes = min(taken, 1 if e == 0 else NEAREST)
            ones = 0.0
            for place in range(votes):
                ones += who[place]
            m[14 + e] = math.log((ones + 0.5) / (votes - ones + 0.5))
        s = 0.0
        for e in range(E):
            said[e] = min(max(m[e], -8.0), 8.0)
            said[E + e] = 2.0 * (2.0 * m[e] / (1.0 + 2.0 * abs(m[e])))
            s += mixed[e] * said[e] + mixed[E + e] * said[E + e]
        score[t, 0] = s
        label = int(y[t])
        sign = 2.0 * label - 1.0
        for e in range(2 * E):
            lead[e] = sign * said[e]
        filter_step(mixed, covariance, lead, gain, sign * s, 1.0, 1e-6, 0.03, 0.01)
        context *= 0.99
        context[label] += 1.0
        sequence *= 0.99
        sequence[label] += 1.0
        known[0], known[1] = label, min(run + 1, 63) if label == last else 0
        known[2], known[3] = (past * 2 + label) % 64, taken + 1
        four_steps(linear, z, m[2:6], sign, 0.05, dot(z, z))
        for e in range(2):
            weight[e] *= KEEPS[e]
            weight[e, label] += 1.0
            share = min(max(1.0 / weight[e, label], 1.0 - KEEPS[e]), 0.5)
            for j in range(d):
                away = z[j] - mean[e, label, j]
                mean[e, label, j] += share * away
                grown = (1.0 - share) * (variance[e, label, j] + share * away * away)
                variance[e, label, j] = max(grown, 0.01)
        four_steps(waving, wave, m[8:12], sign, 0.3, dot(wave, wave))
        for e in range(2):
            filter_step(filters[e], P[e], z, k, sign * m[12 + e], sign, DRIFTS[e], 10.0, 0.02)
        for j in range(d):
            column[j, taken % WINDOW] = z[j]
        labels[taken % WINDOW] = label


def experts(d: int) -> tuple[np.ndarray, ...]:
    """The arrays of `auto`."""
    frequency, phase = np.empty((d, WAVES)), np.empty(WAVES)
    draw(np.uint64(1), frequency, phase, np.empty(4, np.uint64))
    bells = np.ones((2, 2)), np.zeros((2, 2, d)), np.ones((2, 2, d))
    second = np.zeros((2, d + 1)), np.stack([np.eye(d + 1)] * 2)
    tables = np.zeros(4, np.int64), np.zeros((128, 2)), np.zeros((64, 2)), np.zeros((4, d + 1))
    mixture = np.full(2 * E, 0.5 / math.sqrt(2 * E)), 0.03 * np.eye(2 * E)
    near = np.zeros((d, WINDOW)), np.zeros(WINDOW)
    return *tables, frequency, phase, np.zeros((4, WAVES)), *second, *bells, *near, *mixture


PLAIN: dict[str, Loop] = {"auto": (auto, experts)}
