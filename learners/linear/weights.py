"""What linear learners remember, and how they score: one vector of weights."""

from __future__ import annotations

from typing import Any, NamedTuple

from learners.jit import fragment
from learners.state import Array, Counts, Fields
from learners.vectors import dot


class Weights(NamedTuple):
    """Memory of a linear learner."""

    weight: Array
    """f8[d], d with the intercept."""
    skipped: Counts
    """i8[1]: labelled rows whose score or step was not finite, or that teach nothing, like zero rows."""


class SteppedWeights(NamedTuple):
    """As `Weights`, of a learner whose steps depend on how many there were."""

    weight: Array
    """f8[d], d with the intercept."""
    learned: Counts
    """i8[1]: t, labelled rows so far."""
    skipped: Counts
    """i8[1]: labelled rows whose score or step was not finite."""


def weight_fields(width: int) -> Fields:
    """The state of `Weights`."""
    return {"weight": ("f8", (width,)), "skipped": ("i8", (1,))}


def stepped_fields(width: int) -> Fields:
    """The state of `SteppedWeights`."""
    return {"weight": ("f8", (width,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}


@fragment
def product(x: Array, _parameters: Any, memory: Any) -> float:
    """The score s = w'x. Shapes: x f8[d]."""
    return dot(memory.weight, x)
