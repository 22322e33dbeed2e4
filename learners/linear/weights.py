"""State and score of linear learners: one weight vector."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment
from driftway.learners.numeric.vectors import dot


class Weights(NamedTuple):
    """State of a linear learner."""

    weight: Array = field("f8[d]", "d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite, or that teach nothing")


class SteppedWeights(NamedTuple):
    """As `Weights`, for a learner whose step size depends on the number of rows so far."""

    weight: Array = field("f8[d]", "d with the intercept")
    learned: Counts = field("i8[1]", "t, labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")


@fragment
def product(x: Array, _parameters: Any, memory: Any) -> float:
    """The score s = w'x. Shapes: x f8[d]."""
    return dot(memory.weight, x)
