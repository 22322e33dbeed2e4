"""Compiled passes of the perceptron."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, ParameterError, fragment, kernel
from driftway.learners.numeric.vectors import axpy_guarded, four_dots
from driftway.learners.online_to_batch.training_passes import CompiledPasses, loops
from driftway.learners.online_to_batch.training_set import TrainingSet
from driftway.learners.online_to_batch.working_set import Ids


class LinearPassState(NamedTuple):
    """A perceptron and the rows of a problem."""

    rows: Array
    """f8[n, d]."""
    y: Array
    """f8[n]."""
    eta: float
    """Step size."""
    weight: Array
    """f8[d]."""
    skipped: Ids
    """i8[1]: mistakes whose step was not finite."""


class LinearPasses(CompiledPasses):
    """See `TrainingPasses`. Four rows are predicted at a time; those after a mistake are predicted again.

    Rows are visited out of order, and fetching four from memory takes as long as one: a pass over the 124 columns of
    a9a takes 176 ns per row instead of 301, over 69 columns 20 instead of 29, but over 9 columns 8 instead of 5.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    learner : Learner
        A `perceptron` with an intercept; its `ties` does not matter, since it learns mistakes only.
    """

    def __init__(self, problem: TrainingSet, learner: Learner) -> None:
        super().__init__(standing(problem, learner), LOOPS)


def standing(problem: TrainingSet, learner: Learner) -> LinearPassState:
    """The rows of the problem with views of the perceptron's state."""
    state = learner.state
    return LinearPassState(problem.rows, problem.y, learner.parameters.eta, state["weight"], state["skipped"])


def weights_of(learner: Learner, procedure: str) -> Array:
    """The weights of a perceptron, f8[d + 1], as a view of its state.

    Raises
    ------
    ParameterError
        The learner is not a perceptron, so its hypotheses cannot be averaged, or it has no intercept.
    """
    if learner.name != "perceptron" or learner.width == learner.n_features:
        raise ParameterError(f"{procedure} averages weights: its learner must be perceptron, with its intercept")
    return learner.state["weight"]


@fragment
def right_of_four(at: LinearPassState, ids: Ids, t: int, last: int) -> int:
    """Number of the next four rows (or fewer), ids[t:t + 4], classified correctly before the first mistake.

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
    """Number of the rows ids[t:last] before the first mistake. Shapes: ids i8[m]; t < last <= m."""
    end, right = t, 4
    while right == 4 and end < last:
        right = right_of_four(at, ids, end, last)
        end += right
    return end - t


@fragment
def learn(at: LinearPassState, i: int) -> None:
    """Learn row i, which was misclassified."""
    if not axpy_guarded(at.weight, at.rows[i], at.eta * (2.0 * at.y[i] - 1.0)):
        at.skipped[0] += 1


@kernel
def errors(at: LinearPassState) -> int:
    """Number of rows that the hypothesis misclassifies."""
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
