"""The most frequent class so far."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment, scratch


class MajorityClass(Learner):
    """Predicts the class that was most frequent so far; looks at no feature.

    A learner that does not beat it has learned nothing from the features.

    Cost
    ----
    O(K) per row; 8 K bytes.

    Source
    ------
    docs/algorithms/baselines.md#majority_class-no_change-running_mean. Binary score n_1 - n_0, so a tie and the first
    row predict class 1; multiclass scores are the counts, so the lowest index wins ties.
    """

    name = "majority_class"
    tasks = ("binary", "multiclass")
    uses_features = False

    Params = Parameters

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, (), MajorityClassState, classes=True)


class MajorityClassState(NamedTuple):
    """State of `majority_class`."""

    counts: Counts = field("i8[K]", "labelled rows of each class")
    S: Array = scratch("f8[K]", "the scores")


@fragment
def score(_x: Array, _parameters: Any, memory: MajorityClassState) -> None:
    """Write the counts of the preceding rows."""
    for c in range(memory.S.shape[0]):
        memory.S[c] = memory.counts[c]


@fragment
def learn(_x: Array, label: int, _omega: float, _finite: bool, _parameters: Any, memory: MajorityClassState) -> None:
    """Count the row."""
    memory.counts[label] += 1
