"""Passes of the quadratic perceptron, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.batch.passes import LONGEST, RUN, Passes
from learners.batch.problem import Problem
from learners.batch.sample import Ids, Sample
from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.linear.quadratic_perceptron import add_products, quadratic


class QuadraticPasses(Passes):
    """See `Passes`.

    Parameters
    ----------
    problem : Problem
        The rows.
    learner : Learner
        A `quadratic_perceptron` with its intercept; whatever its `ties`, it is shown mistakes only.
    """

    def __init__(self, problem: Problem, learner: Learner) -> None:
        self._rows, self._y = problem.rows, problem.y
        self._form, self._skipped, self._k = learner.state["form"], learner.state["skipped"], np.empty(learner.width)

    def visit(self, sample: Sample, most: int, revisit: bool) -> tuple[int, int, int]:
        return visit(
            self._rows, self._y, sample.ids, sample.copies, sample.first, sample.last, most, revisit,
            self._form, self._skipped, self._k,
        )  # fmt: skip

    def follow(self, draws: Ids, first: int, survival: NDArray[np.int64]) -> tuple[int, int]:
        return follow(self._rows, self._y, draws, first, survival, self._form, self._skipped, self._k)

    def errors(self) -> int:
        return errors(self._rows, self._y, self._form, self._k)


@bare_kernel
def visit(
    rows: Array,
    y: Array,
    ids: Ids,
    copies: Ids,
    first: int,
    last: int,
    most: int,
    revisit: bool,
    form: Array,
    skipped: Ids,
    k: Array,
) -> tuple[int, int, int]:
    """As `linear_passes.visit`.

    Shapes: rows f8[n, d], y f8[n], ids i8[n], copies i8[n], form f8[d (d + 1) / 2], skipped i8[1], k f8[d] scratch.
    """
    kept, t, mistakes = first, first, 0
    while t < last and mistakes < most:
        i = ids[t]
        if (quadratic(form, rows[i], k) >= 0.0) == (y[i] == 1.0):
            ids[kept] = i
            kept += 1
            t += 1
            continue
        if not add_products(form, rows[i], 2.0 * y[i] - 1.0):
            skipped[0] += 1
        mistakes += 1
        copies[i] -= 1
        if copies[i] > 0 and revisit:
            continue
        if copies[i] > 0:
            ids[kept] = i
            kept += 1
        t += 1
    return kept, t, mistakes


@bare_kernel
def follow(
    rows: Array, y: Array, draws: Ids, first: int, survival: Ids, form: Array, skipped: Ids, k: Array
) -> tuple[int, int]:
    """As `linear_passes.follow`.

    Shapes: rows f8[n, d], y f8[n], draws i8[m], survival i8[2], form f8[d (d + 1) / 2], skipped i8[1], k f8[d] scratch.
    """
    mistakes = 0
    for t in range(first, draws.shape[0]):
        i = draws[t]
        if (quadratic(form, rows[i], k) >= 0.0) == (y[i] == 1.0):
            survival[RUN] += 1
            continue
        if survival[RUN] > survival[LONGEST]:
            return t, mistakes
        if not add_products(form, rows[i], 2.0 * y[i] - 1.0):
            skipped[0] += 1
        mistakes += 1
        survival[RUN] = 0
    return draws.shape[0], mistakes


@bare_kernel
def errors(rows: Array, y: Array, form: Array, k: Array) -> int:
    """Rows that the hypothesis mistakes. Shapes: rows f8[n, d], y f8[n], form f8[d (d + 1) / 2], k f8[d] scratch."""
    wrong = 0
    for t in range(rows.shape[0]):
        wrong += (quadratic(form, rows[t], k) >= 0.0) != (y[t] == 1.0)
    return wrong
