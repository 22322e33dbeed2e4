"""What linear learners of several classes remember, and how they score: one vector of weights per class."""

from __future__ import annotations

from typing import Any, NamedTuple

from learners.jit import fragment
from learners.state import Array, Counts, Fields
from learners.vectors import dot


class ClassWeights(NamedTuple):
    """Memory of a linear learner of K classes."""

    weight: Array
    """f8[K, d]: one row per class, d with the intercept."""
    skipped: Counts
    """i8[1]: labelled rows whose score or step was not finite, or that teach nothing, like zero rows."""
    S: Array
    """f8[K], scratch: the scores."""


class SteppedClassWeights(NamedTuple):
    """As `ClassWeights`, of a learner whose steps depend on how many there were."""

    weight: Array
    """f8[K, d]: one row per class, d with the intercept."""
    learned: Counts
    """i8[1]: t, labelled rows so far."""
    skipped: Counts
    """i8[1]: labelled rows whose score or step was not finite."""
    S: Array
    """f8[K], scratch: the scores."""


def class_weight_fields(n_classes: int, width: int) -> Fields:
    """The state of `ClassWeights`."""
    return {"weight": ("f8", (n_classes, width)), "skipped": ("i8", (1,))}


@fragment
def products(x: Array, _parameters: Any, memory: Any) -> None:
    """S_r = W_r'x for every class r. Shapes: x f8[d]."""
    for r in range(memory.S.shape[0]):
        memory.S[r] = dot(memory.weight[r], x)
