"""Passive-aggressive learning of one class, shared by `pa_uniclass`, `pa1_uniclass`, `pa2_uniclass`.

The model is a ball. A row inside teaches nothing; one outside pulls the centre, as far as the learner allows. To learn
the radius too, the centre gets a height above the rows: a ball of radius `eps_max` around a point at height h cuts
their plane in a ball of radius sqrt(eps_max^2 - h^2), and every pull lowers the height.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.linear.number_or_word import AUTO
from learners.state import Fields

LEARNED = "learned"
"""As the radius: start at 0 and let it grow, up to `eps_max`."""


def fields_of(eps: float | str, n_features: int) -> Fields:
    """The state of a one-class learner; the height, if there is one, is the last coordinate of the centre."""
    size = n_features + (eps == LEARNED)
    return {"centre": ("f8", (size,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}


def radius_of(eps: float | str, eps_max: float | str, n_features: int) -> float:
    """Radius of the ball that the kernel works with: eps, or eps_max where eps is learned."""
    if eps == LEARNED:
        return 2.0 * math.sqrt(n_features) if eps_max == AUTO else float(eps_max)
    return math.sqrt(n_features) if eps == AUTO else float(eps)


@fragment
def distance(x: Array, centre: Array) -> float:
    """From the centre to the row at height 0, also where squares would overflow or vanish.

    Shapes: x f8[d], centre f8[d] or f8[d + 1].
    """
    d: int = x.shape[0]
    height = 0.0
    if centre.shape[0] > d:
        height = centre[d]
    squared = 0.0
    for j in range(d):
        squared += (x[j] - centre[j]) * (x[j] - centre[j])
    squared += height * height
    if not 1e-280 < squared < math.inf:
        largest = abs(height)
        for j in range(d):
            largest = max(largest, abs(x[j] - centre[j]))
        squared = (height / largest) ** 2 if largest > 0.0 else 0.0
        for j in range(d):
            squared += ((x[j] - centre[j]) / largest) ** 2 if largest > 0.0 else 0.0
        return largest * math.sqrt(squared)
    return math.sqrt(squared)


@bare_kernel
def passive_aggressive_uniclass(
    rows: Array,
    y: Array,
    score: Array,
    radius: float,
    cap: float,
    ridge: float,
    centre: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Score how far inside the ball the row is, then pull the centre towards it if it is outside.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], centre f8[d] or f8[d + 1], learned i8[1], skipped i8[1].
    ALGORITHMS.md 3. The centre moves by tau = min(cap, loss / (1 + ridge)), never beyond the row, hence never out of
    float64: PA has (inf, 0), PA-I (C, 0), PA-II (inf, 1 / 2C). The first row becomes the centre, at height `radius`.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        apart = distance(x, centre)
        finite = math.isfinite(apart)
        score[t, 0] = radius - apart if finite and learned[0] > 0 else 0.0
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        if learned[0] == 1:
            for j in range(d):
                centre[j] = x[j]
            if centre.shape[0] > d:
                centre[d] = radius
            continue
        loss = apart - radius
        if not finite:
            skipped[0] += 1
        elif loss > 0.0:
            share = min(cap, loss / (1.0 + ridge)) / apart  # tau, in units of the way to the row
            for j in range(d):
                centre[j] += share * (x[j] - centre[j])
            if centre.shape[0] > d:
                centre[d] -= share * centre[d]
