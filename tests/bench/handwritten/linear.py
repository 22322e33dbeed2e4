"""Baselines and first-order learners, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def majority_class(rows, y, score, counts):
    for t in range(len(y)):
        score[t, 0] = counts[1] - counts[0]
        counts[int(y[t])] += 1


@kernel
def no_change(rows, y, score, last):
    for t in range(len(y)):
        score[t, 0] = 2.0 * last[0] - 1.0
        last[0] = y[t]


@kernel
def running_mean(rows, y, score, mean):
    for t in range(len(y)):
        score[t, 0] = mean[0]
        mean[0] += (y[t] - mean[0]) / (t + 1.0)


@kernel
def perceptron(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            for j in range(d):
                weight[j] += label * rows[t, j]


@kernel
def pa1(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        loss = 1.0 - label * s
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            tau = min(0.1, loss / x2)
            for j in range(d):
                weight[j] += tau * label * rows[t, j]


@kernel
def passive_aggressive(rows, y, score, ridge, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        loss = 1.0 - label * s
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            for j in range(d):
                weight[j] += loss / (x2 + ridge) * label * rows[t, j]


@kernel
def passive_aggressive_regression(rows, y, score, cap, ridge, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        loss = abs(y[t] - s) - 0.1
        if loss > 0.0:
            x2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
            tau = np.copysign(min(cap, loss / (x2 + ridge)), y[t] - s)
            for j in range(d):
                weight[j] += tau * rows[t, j]


@kernel
def hinge_descent(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s < 1.0:
            for j in range(d):
                weight[j] += label / np.sqrt(t + 1.0) * rows[t, j]


@kernel
def logistic_descent(rows, y, score, epoch, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        step = label / (1.0 + np.exp(label * s)) / np.sqrt(t % epoch + 1.0)
        for j in range(d):
            weight[j] += step * rows[t, j]
        if (t + 1) % epoch == 0:
            weight[:] = 0.0


@kernel
def square_descent(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        x2 = 0.0
        for j in range(d):
            x2 += rows[t, j] * rows[t, j]
        step = min(1.0 / np.sqrt(t + 1.0), 1.0 / x2) * (2.0 * y[t] - 1.0 - s)
        for j in range(d):
            weight[j] += step * rows[t, j]


@kernel
def pegasos(rows, y, score, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        step = label * 1e3 / (t + 1.0) if label * s < 1.0 else 0.0
        w2 = 0.0
        for j in range(d):
            weight[j] = (1.0 - 1.0 / (t + 1.0)) * weight[j] + step * rows[t, j]
            w2 += weight[j] * weight[j]
        if w2 > 1e3:
            for j in range(d):
                weight[j] *= np.sqrt(1e3 / w2)


@kernel
def additive(rows, y, score, alpha, rho, keep, radius, weight):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if keep < 1.0:
            for j in range(d):
                weight[j] *= keep
        if label * s <= rho:
            w2 = 0.0
            for j in range(d):
                weight[j] += alpha * label * rows[t, j]
                w2 += weight[j] * weight[j]
            if w2 > radius * radius:
                for j in range(d):
                    weight[j] *= radius / np.sqrt(w2)


@kernel
def relaxed_margin(rows, y, score, aggressive, weight, target):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0 or (aggressive and label * s < target[0]):
            x2 = 0.0
            w2 = 0.0
            for j in range(d):
                x2 += rows[t, j] * rows[t, j]
                w2 += weight[j] * weight[j]
            m = label * target[0]
            c = (x2 * w2 - m * s) / (x2 * w2 - s * s) if w2 > 0.0 else -1.0
            e = w2 * (m - s) / (x2 * w2 - s * s) if c >= 0.0 else m / x2
            size = 0.0
            for j in range(d):
                weight[j] = max(c, 0.0) * weight[j] + e * rows[t, j]
                size += weight[j] * weight[j]
            if size > 1e12:
                for j in range(d):
                    weight[j] /= np.sqrt(size)
                target[0] /= np.sqrt(size)


@kernel
def averaged_perceptron(rows, y, score, weight, late):
    d = rows.shape[1]
    for t in range(len(y)):
        newest = 0.0
        before = 0.0
        for j in range(d):
            newest += weight[j] * rows[t, j]
            before += late[j] * rows[t, j]
        score[t, 0] = (t + 1.0) * newest - before
        label = 2.0 * y[t] - 1.0
        if label * newest <= 0.0:
            for j in range(d):
                weight[j] += label * rows[t, j]
                late[j] += (t + 1.0) * label * rows[t, j]


@kernel
def voted_perceptron(rows, y, score, hypotheses, votes, count):
    budget, d = hypotheses.shape
    for t in range(len(y)):
        s = 0.0
        newest = 0.0
        for i in range(count[0]):
            newest = 0.0
            for j in range(d):
                newest += hypotheses[i, j] * rows[t, j]
            s += votes[i] if newest >= 0.0 else -votes[i]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        last = count[0] - 1
        if label * newest > 0.0:
            votes[last] += 1.0
            continue
        if count[0] == budget:
            weakest = np.argmin(votes[:last])
            for i in range(weakest, last):
                votes[i] = votes[i + 1]
                hypotheses[i] = hypotheses[i + 1]
        else:
            last += 1
            count[0] += 1
        votes[last] = 1.0
        for j in range(d):
            hypotheses[last, j] = hypotheses[last - 1, j] + label * rows[t, j]


@kernel
def self_tuning_margin(rows, y, score, weight, k):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        x2 = 0.0
        for j in range(d):
            s += weight[j] * rows[t, j]
            x2 += rows[t, j] * rows[t, j]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= (1.0 - 0.9) * np.sqrt(8.0) / 0.9 / np.sqrt(k[0]) * np.sqrt(x2):
            w2 = 0.0
            for j in range(d):
                weight[j] += label * np.sqrt(2.0) / (np.sqrt(k[0]) * np.sqrt(x2)) * rows[t, j]
                w2 += weight[j] * weight[j]
            if w2 > 1.0:
                for j in range(d):
                    weight[j] /= np.sqrt(w2)
            k[0] += 1.0


@kernel
def one_class(rows, y, score, cap, ridge, centre):
    d = rows.shape[1]
    for t in range(len(y)):
        squared = 0.0
        for j in range(d):
            squared += (rows[t, j] - centre[j]) ** 2
        apart = np.sqrt(squared)
        score[t, 0] = np.sqrt(d) - apart
        if t == 0:
            score[t, 0] = 0.0
            centre[:] = rows[t]
        elif apart > np.sqrt(d):
            share = min(cap, (apart - np.sqrt(d)) / (1.0 + ridge)) / apart
            for j in range(d):
                centre[j] += share * (rows[t, j] - centre[j])


@kernel
def conjunction(rows, y, score, kept):
    d = rows.shape[1]
    for t in range(len(y)):
        holds = True
        for j in range(d):
            if kept[int(rows[t, j] <= 0.5), j]:
                holds = False
                break
        score[t, 0] = 1.0 if holds else -1.0
        if y[t] > 0.5 and not holds:
            for j in range(d):
                kept[int(rows[t, j] <= 0.5), j] = False


@kernel
def gaussian_nb(rows, y, score, count, mean, squares):
    d = rows.shape[1]
    for t in range(len(y)):
        score[t, 0] = np.sign(count[1] - count[0])
        if count[0] > 0.0 and count[1] > 0.0:
            s = np.log(count[1] / count[0])
            for j in range(d):
                for c in range(2):
                    v = max(squares[c, j] / count[c], 1e-9)
                    s += (0.5 - c) * (np.log(v) + (rows[t, j] - mean[c, j]) ** 2 / v)
            score[t, 0] = s
        c = int(y[t])
        count[c] += 1.0
        for j in range(d):
            delta = rows[t, j] - mean[c, j]
            mean[c, j] += delta / count[c]
            squares[c, j] += delta * (rows[t, j] - mean[c, j])


PLAIN: dict[str, Loop] = {
    "majority_class": (majority_class, lambda d: (np.zeros(2, np.int64),)),
    "no_change": (no_change, lambda d: (np.ones(1),)),
    "running_mean": (running_mean, lambda d: (np.zeros(1),)),
    "perceptron": (perceptron, lambda d: (np.zeros(d),)),
    "pa1": (pa1, lambda d: (np.zeros(d),)),
    "pa": (passive_aggressive, lambda d: (0.0, np.zeros(d))),
    "pa2": (passive_aggressive, lambda d: (50.0, np.zeros(d))),
    "pa_regressor": (passive_aggressive_regression, lambda d: (np.inf, 0.0, np.zeros(d))),
    "pa1_regressor": (passive_aggressive_regression, lambda d: (1.0, 0.0, np.zeros(d))),
    "pa2_regressor": (passive_aggressive_regression, lambda d: (np.inf, 0.5, np.zeros(d))),
    "ogd_hinge": (hinge_descent, lambda d: (np.zeros(d),)),
    "ogd_logistic": (logistic_descent, lambda d: (2**62, np.zeros(d))),
    "ogd_square": (square_descent, lambda d: (np.zeros(d),)),
    "restarted_ogd": (logistic_descent, lambda d: (1000, np.zeros(d))),
    "pegasos": (pegasos, lambda d: (np.zeros(d),)),
    "p_norm_perceptron": (additive, lambda d: (1.0, 0.0, 1.0, np.inf, np.zeros(d))),
    "norma": (additive, lambda d: (0.1, 1.0, 0.999, np.inf, np.zeros(d))),
    "norma_zero_margin": (additive, lambda d: (0.1, 0.0, 0.999, np.inf, np.zeros(d))),
    "alma": (additive, lambda d: (0.1, 1.0, 1.0, 10.0, np.zeros(d))),
    "alma_zero_margin": (additive, lambda d: (0.1, 0.0, 1.0, 10.0, np.zeros(d))),
    "romma": (relaxed_margin, lambda d: (False, np.zeros(d), np.ones(1))),
    "averaged_perceptron": (averaged_perceptron, lambda d: (np.zeros(d), np.zeros(d))),
    "voted_perceptron": (voted_perceptron, lambda d: (np.zeros((256, d)), np.zeros(256), np.ones(1, np.int64))),
    "aromma": (relaxed_margin, lambda d: (True, np.zeros(d), np.ones(1))),
    "alma_gentile": (self_tuning_margin, lambda d: (np.zeros(d), np.ones(1))),
    "pa_uniclass": (one_class, lambda d: (np.inf, 0.0, np.zeros(d))),
    "pa1_uniclass": (one_class, lambda d: (0.1, 0.0, np.zeros(d))),
    "pa2_uniclass": (one_class, lambda d: (np.inf, 5.0, np.zeros(d))),
    "conjunction": (conjunction, lambda d: (np.ones((2, d), np.bool_),)),
    "gaussian_nb": (gaussian_nb, lambda d: (np.zeros(2), np.zeros((2, d)), np.zeros((2, d)))),
}
