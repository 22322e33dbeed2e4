"""The relaxed maximum margin step of several classes: all weights are shrunk, two of them turn towards the row."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.linear.relaxed_margin import LONGEST, PARALLEL, SMALLEST_TARGET
from learners.multiclass.margins import best_wrong, score_classes, write_score
from learners.vectors import dot, length, multiply


@fragment
def shrink_and_part(weight: Array, keep: float, label: int, rival: int, x: Array, step: float) -> bool:
    """Multiply all weights by `keep`, then add step * x to class `label` and take it from `rival`; or nothing.

    Shapes: weight f8[K, d], x f8[d]. Nothing if some coordinate would overflow; says which.
    """
    overflows = False
    for r in range(weight.shape[0]):
        along = step if r == label else (-step if r == rival else 0.0)
        for j in range(x.shape[0]):
            moved = keep * weight[r, j] + along * x[j]
            overflows |= moved - moved != 0.0
    if overflows:
        return False
    for r in range(weight.shape[0]):
        along = step if r == label else (-step if r == rival else 0.0)
        for j in range(x.shape[0]):
            weight[r, j] = keep * weight[r, j] + along * x[j]
    return True


@bare_kernel
def relaxed_maximum_margin(
    rows: Array,
    y: Array,
    score: Array,
    aggressive: bool,
    weight: Array,
    flat: Array,
    mu: Array,
    skipped: NDArray[np.int64],
    S: Array,
) -> None:
    """Predict, then take the shortest weights in the half-spaces of this row and of all before it.

    Shapes: rows f8[n, d], y f8[n], score f8[n, k], weight f8[K, d], flat f8[K d] the same memory, mu f8[1], skipped
    i8[1], S f8[K] scratch. ALGORITHMS.md 8: the step of two classes for phi, which is x in the right class, -x in the
    best wrong one and 0 elsewhere. Learns where the margin m <= 0 or, `aggressive`, where m < mu.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        rival = best_wrong(S, label)
        m = S[label] - S[rival]
        far = m >= mu[0] if aggressive else m > 0.0
        if finite and far:
            continue
        x2 = 2.0 * dot(x, x)
        w2 = dot(flat, flat)
        both = x2 * w2
        if not (finite and 0.0 < x2 < math.inf and both < math.inf):
            skipped[0] += 1
            continue
        den = both - m * m
        keep, step = 0.0, mu[0] / x2  # the first row, or one that the past does not bind: c < 0
        if w2 > 0.0 and den <= PARALLEL * both:
            keep, step = 1.0, (mu[0] - m) / x2
        elif w2 > 0.0 and both - mu[0] * m >= 0.0:
            keep, step = (both - mu[0] * m) / den, w2 * (mu[0] - m) / den
        if not shrink_and_part(weight, keep, label, rival, x, step):
            skipped[0] += 1
            continue
        size = length(flat)
        if size > LONGEST:
            multiply(flat, 1.0 / size)
            mu[0] = max(mu[0] / size, SMALLEST_TARGET)
