"""Online gradient descent on the two cost-sensitive hinge losses: the kernel of `csogd1` and `csogd2`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.cost_sensitive.imbalance import imbalance
from learners.jit import bare_kernel
from learners.learner import Array
from learners.vectors import dot, step_along


@bare_kernel
def weighted_hinge(
    rows: Array,
    y: Array,
    score: Array,
    steeper: bool,
    eta: float,
    price_p: float,
    price_n: float,
    shared: bool,
    weight: Array,
    classes: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict, then step by eta y x if the margin is below rho_t (loss I), or by rho_t eta y x if below 1 (loss II).

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], skipped i8[1]. ALGORITHMS.md 14.
    `steeper` means loss II. The row's own class is counted before rho; a row that would overflow counts, no more.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        label = 2.0 * y[t] - 1.0
        classes[int(y[t])] += 1
        rho = imbalance(price_p, price_n, shared, classes) if label > 0.0 else 1.0
        if not finite:
            skipped[0] += 1
        elif label * s < (1.0 if steeper else rho):
            step = eta * rho if steeper else eta
            if not step_along(weight, x, step * label):
                skipped[0] += 1
