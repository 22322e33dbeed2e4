"""Perceptrons of several classes: on a mistake, classes that scored too high pay for what the right one is given."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array
from learners.multiclass.margins import best_wrong, mistaken, score_classes, step_apart, step_each, write_score

MAX, UNIFORM, SIMILARITY = range(3)
"""Who pays: the highest wrong class, all that scored too high alike, or each by how much."""


@fragment
def share_out(S: Array, label: int, by_excess: bool, step: Array) -> bool:
    """Steps of the right class, 1, and of E, the wrong ones that score no less, together -1; say whether finite.

    Shapes: S f8[K], step f8[K] written.
    """
    excess, members = 0.0, 0
    for r in range(S.shape[0]):
        if r != label and S[r] >= S[label]:
            excess += S[r] - S[label]
            members += 1
    for r in range(S.shape[0]):
        step[r] = 1.0 if r == label else 0.0
        if r != label and S[r] >= S[label]:
            # Without excess, all of E is level with the right class.
            step[r] = -((S[r] - S[label]) / excess) if by_excess and excess > 0.0 else -1.0 / members
    return excess < math.inf


@bare_kernel
def ultraconservative(
    rows: Array,
    y: Array,
    score: Array,
    rule: int,
    weight: Array,
    skipped: NDArray[np.int64],
    S: Array,
    step: Array,
) -> None:
    """Predict; if another class is predicted than the row's, move the right one and those that the rule names.

    Shapes: rows f8[n, d], y f8[n], score f8[n, k], weight f8[K, d], skipped i8[1], S f8[K] and step f8[K] scratch.
    ALGORITHMS.md 8. The steps of all classes add up to 0.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        score_classes(weight, x, S)
        finite = write_score(S, score[t])
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        rival = best_wrong(S, label)
        if finite and not mistaken(S, label, rival):
            continue
        if not finite:
            moved = False
        elif rule == MAX:
            moved = step_apart(weight[label], x, weight[rival], x, 1.0)
        else:
            moved = share_out(S, label, rule == SIMILARITY, step) and step_each(weight, x, step)
        if not moved:
            skipped[0] += 1
