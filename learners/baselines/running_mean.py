"""The mean of the targets so far."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment


class RunningMean(Learner):
    """Predicts the mean of the targets so far; looks at no feature.

    A regressor whose squared error is not below its own has learned nothing from the features.

    Cost
    ----
    O(1) per row; 24 bytes.

    Source
    ------
    docs/algorithms/baselines.md#majority_class-no_change-running_mean. Predicts 0 before the first target.
    """

    name = "running_mean"
    tasks = ("regression",)
    uses_features = False

    Params = Parameters

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, (), RunningMeanState)


class RunningMeanState(NamedTuple):
    """State of `running_mean`."""

    mean: Array = field("f8[1]", "mean of the targets")
    labels: Counts = field("i8[1]", "number of targets in the mean")
    skipped: Counts = field("i8[1]", "targets so far from the mean that their difference overflows")


@fragment
def score(_x: Array, _parameters: Any, memory: RunningMeanState) -> float:
    """Return the mean of the preceding targets."""
    return float(memory.mean[0])


@fragment
def learn(_x: Array, y: float, _omega: float, _s: float, _parameters: Any, memory: RunningMeanState) -> None:
    """Add the target to the mean, or count it as skipped if that overflows."""
    moved = memory.mean[0] + (y - memory.mean[0]) / (memory.labels[0] + 1.0)
    if math.isfinite(moved):
        memory.mean[0] = moved
        memory.labels[0] += 1
    else:
        memory.skipped[0] += 1
