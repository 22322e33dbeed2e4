"""The quadratic perceptron, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def quadratic_perceptron(rows, y, score, form):
    d = rows.shape[1]
    for t in range(len(y)):
        s = 0.0
        for i in range(d):
            along = 0.0
            for j in range(i, d):
                along += form[i, j] * rows[t, j]
            s += along * rows[t, i]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if label * s <= 0.0:
            for i in range(d):
                form[i, i] += label * rows[t, i] * rows[t, i]
                for j in range(i + 1, d):
                    form[i, j] += 2.0 * label * rows[t, i] * rows[t, j]


PLAIN: dict[str, Loop] = {"quadratic_perceptron": (quadratic_perceptron, lambda d: (np.zeros((d, d)),))}
