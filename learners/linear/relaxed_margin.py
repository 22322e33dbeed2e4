"""The relaxed maximum margin step: the shortest weights in two half-spaces, one of the row and one for all before."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array
from learners.vectors import dot, length, multiply, shrink_and_step

PARALLEL = 1e-12
"""Sine squared of the angle between row and weights below which they count as parallel."""
LONGEST = 1e6
"""Length at which the weights are scaled to 1: on noisy rows they only grow, to infinity within thousands of rows."""
SMALLEST_TARGET = 1e-200
"""Smallest margin aimed at; rescaling would bring it to 0 in the end, and a target of 0 teaches nothing."""


@bare_kernel
def relaxed_maximum_margin(
    rows: Array,
    y: Array,
    score: Array,
    aggressive: bool,
    weight: Array,
    mu: Array,
    skipped: NDArray[np.int64],
) -> None:
    """Predict, then take the shortest weights in the half-spaces of this row and of all before it.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], mu f8[1], skipped i8[1]. ALGORITHMS.md 3. Learns where
    y s <= 0 or, `aggressive`, where y s < mu.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        far = label * s >= mu[0] if aggressive else label * s > 0.0
        if (finite and far) or math.isnan(label):
            continue
        x2 = dot(x, x)
        w2 = dot(weight, weight)
        both = x2 * w2
        if not (finite and 0.0 < x2 < math.inf and both < math.inf):
            skipped[0] += 1
            continue
        target = mu[0] * label
        den = both - s * s
        keep, step = 0.0, target / x2  # the first row, or one that the past does not bind: c < 0
        if w2 > 0.0 and den <= PARALLEL * both:
            keep, step = 1.0, (target - s) / x2
        elif w2 > 0.0 and both - target * s >= 0.0:
            keep, step = (both - target * s) / den, w2 * (target - s) / den
        if not shrink_and_step(weight, keep, x, step):
            skipped[0] += 1
            continue
        size = length(weight)
        if size > LONGEST:
            multiply(weight, 1.0 / size)
            mu[0] = max(mu[0] / size, SMALLEST_TARGET)
