"""Passes of the perceptron, compiled."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, ParameterError, fragment, kernel_without_refcounts
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.online_to_batch.training_passes import CompiledPasses, loops
from driftway.learners.online_to_batch.training_set import TrainingSet
from driftway.learners.online_to_batch.working_set import Ids


class LinearPassState(NamedTuple):
    """A perceptron before the rows of a problem."""

    rows: Array
    """f8[n, d]."""
    y: Array
    """f8[n]."""
    eta: float
    """Size of its steps."""
    weight: Array
    """f8[d]."""
    skipped: Ids
    """i8[1]: mistakes whose step was not finite."""


class LinearPasses(CompiledPasses):
    """See `TrainingPasses`. Four rows are predicted at a time, and those behind a mistake once more.

    Rows are visited out of order, and four of them come from memory in the time of one: a pass over the 124 columns of
    a9a takes 176 ns a row instead of 301, over 69 columns 20 instead of 29, over 9 columns 8 instead of 5.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    learner : Learner
        A `perceptron` with its intercept; whatever its `ties`, it is shown mistakes only.
    """

    def __init__(self, problem: TrainingSet, learner: Learner) -> None:
        super().__init__(standing(problem, learner), LOOPS)


def standing(problem: TrainingSet, learner: Learner) -> LinearPassState:
    """A perceptron, as it is and where its state lives, before the rows."""
    state = learner.state
    return LinearPassState(problem.rows, problem.y, learner.parameters.eta, state["weight"], state["skipped"])


def weights_of(learner: Learner, procedure: str) -> Array:
    """The weights of a perceptron, f8[d + 1], where they live.

    Raises
    ------
    ParameterError
        Another learner, whose hypotheses cannot be averaged, or a perceptron without its intercept.
    """
    if learner.name != "perceptron" or learner.width == learner.n_features:
        raise ParameterError(f"{procedure} averages weights: its learner is perceptron, with its intercept")
    return learner.state["weight"]


@fragment
def four_dots(a: Array, b: Array, c: Array, d: Array, w: Array) -> tuple[float, float, float, float]:
    """`dot` of w with each of four rows, with the same bits. Shapes: a f8[d], b f8[d], c f8[d], d f8[d], w f8[d]."""
    of_a = of_b = of_c = of_d = 0.0
    for j in range(w.shape[0]):
        of_a += w[j] * a[j]
        of_b += w[j] * b[j]
        of_c += w[j] * c[j]
        of_d += w[j] * d[j]
    return of_a, of_b, of_c, of_d


@fragment
def right_of_four(at: LinearPassState, ids: Ids, t: int, last: int) -> int:
    """How many of the next four rows, ids[t:t + 4] or fewer, are right before one is wrong.

    Shapes: ids i8[m]; t < last <= m.
    """
    rows, y = at.rows, at.y
    a, b, c, d = ids[t], ids[min(t + 1, last - 1)], ids[min(t + 2, last - 1)], ids[min(t + 3, last - 1)]
    of_a, of_b, of_c, of_d = four_dots(rows[a], rows[b], rows[c], rows[d], at.weight)
    right = 4
    if (of_d >= 0.0) != (y[d] == 1.0):
        right = 3
    if (of_c >= 0.0) != (y[c] == 1.0):
        right = 2
    if (of_b >= 0.0) != (y[b] == 1.0):
        right = 1
    if (of_a >= 0.0) != (y[a] == 1.0):
        right = 0
    return min(right, last - t)


@fragment
def right_before_a_mistake(at: LinearPassState, ids: Ids, t: int, last: int) -> int:
    """How many of the rows ids[t:last] are right before one is wrong. Shapes: ids i8[m]; t < last <= m."""
    end, right = t, 4
    while right == 4 and end < last:
        right = right_of_four(at, ids, end, last)
        end += right
    return end - t


@fragment
def learn(at: LinearPassState, i: int) -> None:
    """Learn from row i, which was mistaken."""
    if not axpy_guarded(at.weight, at.rows[i], at.eta * (2.0 * at.y[i] - 1.0)):
        at.skipped[0] += 1


@kernel_without_refcounts
def errors(at: LinearPassState) -> int:
    """Rows that the hypothesis mistakes."""
    rows, y, weight = at.rows, at.y, at.weight
    n, wrong = rows.shape[0], 0
    for t in range(0, n - 3, 4):
        of_a, of_b, of_c, of_d = four_dots(rows[t], rows[t + 1], rows[t + 2], rows[t + 3], weight)
        wrong += (of_a >= 0.0) != (y[t] == 1.0)
        wrong += (of_b >= 0.0) != (y[t + 1] == 1.0)
        wrong += (of_c >= 0.0) != (y[t + 2] == 1.0)
        wrong += (of_d >= 0.0) != (y[t + 3] == 1.0)
    for t in range(n - n % 4, n):
        s = 0.0
        for j in range(weight.shape[0]):
            s += weight[j] * rows[t, j]
        wrong += (s >= 0.0) != (y[t] == 1.0)
    return wrong


LOOPS = loops(right_before_a_mistake, learn, errors)
