"""Passes of the quadratic perceptron, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.batch.passes import LONGEST, RUN, Passes
from learners.batch.problem import Problem
from learners.batch.sample import Ids, Sample
from learners.jit import bare_kernel, fragment
from learners.learner import Learner
from learners.linear.quadratic_perceptron import add_products, quadratic
from learners.state import Array


class Standing(NamedTuple):
    """A quadratic perceptron before the rows of a problem."""

    rows: Array
    """f8[n, d]."""
    y: Array
    """f8[n]."""
    form: Array
    """f8[d (d + 1) / 2]: its quadratic form."""
    skipped: Ids
    """i8[1]: mistakes whose step was not finite."""
    k: Array
    """f8[d], scratch."""


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
        form, skipped = learner.state["form"], learner.state["skipped"]
        self._at = Standing(problem.rows, problem.y, form, skipped, np.empty(learner.width))

    def visit(self, sample: Sample, most: int, revisit: bool) -> tuple[int, int, int]:
        return visit(self._at, sample.ids, sample.copies, (sample.first, sample.last), most, revisit)

    def follow(self, draws: Ids, first: int, survival: NDArray[np.int64]) -> tuple[int, int]:
        return follow(self._at, draws, first, survival)

    def errors(self) -> int:
        return errors(self._at)


@fragment
def right(at: Standing, i: int) -> bool:
    """Whether the hypothesis is right about row i."""
    return bool((quadratic(at.form, at.rows[i], at.k) >= 0.0) == (at.y[i] == 1.0))


@fragment
def learn(at: Standing, i: int) -> None:
    """Learn from row i, which was mistaken."""
    if not add_products(at.form, at.rows[i], 2.0 * at.y[i] - 1.0):
        at.skipped[0] += 1


@bare_kernel
def visit(at: Standing, ids: Ids, copies: Ids, span: tuple[int, int], most: int, revisit: bool) -> tuple[int, int, int]:
    """As `linear_passes.visit`. Shapes: ids i8[n], copies i8[n]."""
    first, last = span
    kept, t, mistakes = first, first, 0
    while t < last and mistakes < most:
        i = ids[t]
        if right(at, i):
            ids[kept] = i
            kept += 1
            t += 1
            continue
        learn(at, i)
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
def follow(at: Standing, draws: Ids, first: int, survival: Ids) -> tuple[int, int]:
    """As `linear_passes.follow`. Shapes: draws i8[m], survival i8[2]."""
    mistakes = 0
    for t in range(first, draws.shape[0]):
        if right(at, draws[t]):
            survival[RUN] += 1
            continue
        if survival[RUN] > survival[LONGEST]:
            return t, mistakes
        learn(at, draws[t])
        mistakes += 1
        survival[RUN] = 0
    return draws.shape[0], mistakes


@bare_kernel
def errors(at: Standing) -> int:
    """Rows that the hypothesis mistakes."""
    wrong = 0
    for i in range(at.rows.shape[0]):
        wrong += not right(at, i)
    return wrong
