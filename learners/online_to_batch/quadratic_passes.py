"""Compiled passes of the quadratic perceptron."""

from typing import NamedTuple

import numpy as np

from driftway.learners.contract import Array, Learner, fragment, kernel
from driftway.learners.linear.quadratic_perceptron import add_products, quadratic
from driftway.learners.online_to_batch.training_passes import CompiledPasses, loops
from driftway.learners.online_to_batch.training_set import TrainingSet
from driftway.learners.online_to_batch.working_set import Ids


class QuadraticPassState(NamedTuple):
    """A quadratic perceptron and the rows of a problem."""

    rows: Array
    """f8[n, d]."""
    y: Array
    """f8[n]."""
    form: Array
    """f8[d (d + 1) / 2], the quadratic form."""
    skipped: Ids
    """i8[1]: mistakes whose step was not finite."""
    k: Array
    """f8[d], scratch."""


class QuadraticPasses(CompiledPasses):
    """See `TrainingPasses`.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    learner : Learner
        A `quadratic_perceptron` with an intercept; its `ties` does not matter, since it learns mistakes only.
    """

    def __init__(self, problem: TrainingSet, learner: Learner) -> None:
        form, skipped = learner.state["form"], learner.state["skipped"]
        super().__init__(QuadraticPassState(problem.rows, problem.y, form, skipped, np.empty(learner.width)), LOOPS)


@fragment
def right(at: QuadraticPassState, i: int) -> bool:
    """Whether the hypothesis classifies row i correctly."""
    return bool((quadratic(at.form, at.rows[i], at.k) >= 0.0) == (at.y[i] == 1.0))


@fragment
def right_before_a_mistake(at: QuadraticPassState, ids: Ids, t: int, last: int) -> int:
    """Number of the rows ids[t:last] before the first mistake. Shapes: ids i8[m]; t < last <= m."""
    end = t
    while end < last and right(at, ids[end]):
        end += 1
    return end - t


@fragment
def learn(at: QuadraticPassState, i: int) -> None:
    """Learn row i, which was misclassified."""
    if not add_products(at.form, at.rows[i], 2.0 * at.y[i] - 1.0):
        at.skipped[0] += 1


@kernel
def errors(at: QuadraticPassState) -> int:
    """Number of rows that the hypothesis misclassifies."""
    wrong = 0
    for i in range(at.rows.shape[0]):
        wrong += not right(at, i)
    return wrong


LOOPS = loops(right_before_a_mistake, learn, errors)
