"""The previous row's label."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment, scratch
from driftway.learners.learner import REGRESSION


class NoChange(Learner):
    """Predicts the last label again; looks at no feature.

    On streams whose labels come in runs it is hard to beat, and a high accuracy below it means little.

    Cost
    ----
    O(K) per row; 16 bytes.

    Source
    ------
    docs/algorithms/baselines.md#majority_class-no_change-running_mean. Scores: -1 or +1 (binary, +1 before the first
    label), 1 for the last class and 0 else (multiclass), the last target (regression, 0 before the first).
    """

    name = "no_change"
    tasks = ("binary", "multiclass", "regression")
    votes = True
    uses_features = False

    Params = Parameters

    def rule(self) -> UpdateRule:
        if self.task == REGRESSION:
            return UpdateRule(last_target, learn_target, (), LastTarget)
        return UpdateRule(last_class, learn_class, (), LastClass, classes=True)


class LastTarget(NamedTuple):
    """State of `no_change` in regression."""

    last: Array = field("f8[1]", "the last target")
    labels: Counts = field("i8[1]", "labelled rows so far")


class LastClass(NamedTuple):
    """State of `no_change` in classification."""

    last: Array = field("f8[1]", "the last class index")
    labels: Counts = field("i8[1]", "labelled rows so far")
    S: Array = scratch("f8[K]", "the scores")


@fragment
def last_target(_x: Array, _parameters: Any, memory: LastTarget) -> float:
    """Return the last target, or 0 before the first."""
    return float(memory.last[0])


@fragment
def learn_target(_x: Array, y: float, _omega: float, _s: float, _parameters: Any, memory: LastTarget) -> None:
    """Store the target, unless it is infinite."""
    if math.isfinite(y):
        memory.last[0] = y
        memory.labels[0] += 1


@fragment
def last_class(_x: Array, _parameters: Any, memory: LastClass) -> None:
    """Write 1 for the last class and 0 for the others."""
    K = memory.S.shape[0]
    last = int(memory.last[0])
    if memory.labels[0] == 0:
        last = 1 if K == 2 else -1  # no class is -1: all scores are 0
    for c in range(K):
        memory.S[c] = 1.0 if c == last else 0.0


@fragment
def learn_class(_x: Array, label: int, _omega: float, _finite: bool, _parameters: Any, memory: LastClass) -> None:
    """Store the class."""
    memory.last[0] = label
    memory.labels[0] += 1
