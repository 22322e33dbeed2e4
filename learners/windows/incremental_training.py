"""Trainings that start at the end of a batch and may be spread over the rows after it."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, ParameterError, field, fragment, integer
from driftway.learners.numeric.random import Words, permute
from driftway.learners.windows.coordinate_descent import LARGEST, DualVariables, Value, WindowSVMParameters, visitor


class BatchTraining(WindowSVMParameters):
    """Parameters of a machine that is trained at the end of each batch."""

    batch: int = integer(100, "Labelled rows between trainings.", at_least=1)
    spread: int = integer(
        10,
        "Labelled rows, <= batch, over which a training is spread: its result comes at most spread - 1 rows late.",
        at_least=1,
    )
    """The default is the largest value that cost no stream half a point of accuracy.

    See docs/algorithms/reference-results.md#accuracy-with-the-defaults.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spread > self.batch:
            raise ParameterError(f"spread must be <= batch = {self.batch}, got {self.spread}")

    @property
    def longest(self) -> int:
        """W, rows of the longest window."""
        raise NotImplementedError

    @property
    def slots(self) -> int:
        # Rows are kept while they are trained on and, with a kernel, until the next machine predicts.
        return self.longest + self.spread - 1 + (self.batch if self.kernel != "linear" else 0)


class IncrementalTraining(NamedTuple):
    """A training that continues from row to row."""

    order: Array = field("f8[R]", "slots in the order of the sweep", largest="R - 1")
    extremes: Array = field("f8[2]", "highest and lowest projected gradient of the sweep so far")
    rows: Counts = field("i8[1]", "how many rows it is trained on; 0: no training is under way", largest="R")
    place: Counts = field("i8[1]", "how many of them the sweep has visited", largest="R")
    sweeps: Counts = field("i8[1]", "sweeps that have ended")
    fewest: Counts = field("i8[1]", "`svm_ada`: estimated errors of the best machine so far in the batch")


@fragment
def begin_training(n: int, end: int, dual: DualVariables, course: IncrementalTraining) -> None:
    """Start from zero coefficients on the n rows before slot `end`, oldest first, so that their slots do not matter."""
    n_slots = dual.alpha.shape[0]
    for j in range(dual.vector.shape[0]):
        dual.vector[j] = 0.0
    for i in range(n_slots):
        dual.alpha[i] = 0.0
    for i in range(n):
        course.order[i] = (end - n + i + n_slots) % n_slots
    course.rows[0], course.place[0], course.sweeps[0] = n, 0, 0


@cache
def proceeding(value: Value) -> Callable[..., int]:
    """As `coordinate_descent.trainer`, but it can stop after any row."""
    visit = visitor(value)

    @fragment
    def proceed(dual: DualVariables, course: IncrementalTraining, p: Any, generator: Words, visits: int) -> int:
        """Continue for at most `visits` visits of a row, or to the training's end; return the number left.

        Shapes: generator u8[4].
        """
        order, extremes = course.order[: course.rows[0]], course.extremes
        while visits > 0 and course.rows[0] > 0:
            first = course.place[0]
            if first == 0:
                permute(generator, order)
                extremes[0], extremes[1] = -LARGEST, LARGEST
            end = min(first + visits, order.shape[0])
            highest, lowest = visit(dual, order[first:end], p.C)
            extremes[0] = max(extremes[0], highest)
            extremes[1] = min(extremes[1], lowest)
            visits -= end - first
            course.place[0] = end
            if end == order.shape[0]:
                course.place[0] = 0
                course.sweeps[0] += 1
                if course.sweeps[0] == p.max_sweeps or not extremes[0] - extremes[1] >= p.tol:
                    course.rows[0] = 0
        return visits

    return proceed
