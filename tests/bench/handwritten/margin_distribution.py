"""A margin distribution learner, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def d_odm(rows, y, score, weight, age, log_prior, loss, beta, s, so_far, C):
    d = rows.shape[1]
    n, before = so_far[0], so_far[1]
    for row in range(len(y)):
        t = before + row
        combined = 0.0
        x2 = 0.0
        for j in range(d):
            x2 += rows[row, j] * rows[row, j]
        for i in range(n):
            s[i] = 0.0
            for j in range(d):
                s[i] += weight[i, j] * rows[row, j]
            combined += beta[i] * s[i]
        score[row, 0] = combined
        label = 2.0 * y[row] - 1.0
        for i in range(n):
            margin = label * s[i]
            short, beyond = max(0.7 - margin, 0.0), max(margin - 1.3, 0.0)
            w2 = 0.0
            for j in range(d):
                w2 += weight[i, j] * weight[i, j]
            f = 0.5 * w2 + 3.0 * (short * short + 0.5 * beyond * beyond) / 0.49
            C[0] = max(C[0], f)
            loss[i] += f
            age[i] += 1.0
            eta = min(1.0 / age[i], 1.0 / (1.0 + 6.0 * x2 / 0.49))
            pull = -eta * 6.0 * (0.5 * beyond - short) / 0.49 * label
            for j in range(d):
                weight[i, j] = (1.0 - eta) * weight[i, j] + pull * rows[row, j]
        rate = np.sqrt(8.0 * np.log(n) / (t + 1.0)) / C[0]
        most, total = -np.inf, 0.0
        for i in range(n):
            most = max(most, log_prior[i] - rate * loss[i])
        for i in range(n):
            beta[i] = np.exp(log_prior[i] - rate * loss[i] - most)
            total += beta[i]
        for i in range(n):
            beta[i] /= total
        if t + 1 == 1 << (n - 1):
            weight[n] = weight[n - 1]
            age[n], loss[n] = age[n - 1], loss[n - 1]
            log_prior[n] = log_prior[n - 1] + np.log(n / (n + 1.0))
            log_prior[n - 1] += np.log(1.0 / (n + 1.0))
            beta[n] = beta[n - 1] * n / (n + 1.0)
            beta[n - 1] /= n + 1.0
            n += 1
        for i in range(n - 1):
            if (t + 1) % (1 << i) == 0:
                weight[i] = 0.0
                age[i] = 0.0
    so_far[0], so_far[1] = n, before + len(y)


PLAIN: dict[str, Loop] = {
    "d_odm": (
        d_odm,
        lambda d: (np.zeros((48, d)), *np.zeros((3, 48)), np.ones(48), np.zeros(48), np.array([1, 0]), np.zeros(1)),
    ),
}
