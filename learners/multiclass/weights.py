"""State and scores of multiclass linear learners: one weight vector per class."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, scratch
from driftway.learners.numeric.vectors import dot


class ClassWeights(NamedTuple):
    """State of a linear learner of K classes."""

    weight: Array = field("f8[K, d]", "one row per class, d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite, or that teach nothing")
    S: Array = scratch("f8[K]", "the scores")


class SteppedClassWeights(NamedTuple):
    """As `ClassWeights`, for a learner whose step size depends on the number of rows so far."""

    weight: Array = field("f8[K, d]", "one row per class, d with the intercept")
    learned: Counts = field("i8[1]", "t, labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    S: Array = scratch("f8[K]", "the scores")


@fragment
def products(x: Array, _parameters: Any, memory: Any) -> None:
    """S_r = W_r'x for every class r. Shapes: x f8[d]."""
    for r in range(memory.S.shape[0]):
        memory.S[r] = dot(memory.weight[r], x)
