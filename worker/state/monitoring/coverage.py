"""Intervals or sets of one learner of a partition, and how many labels they covered."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from driftway.learners.conformal.conformal import NONE_WAITS, Conformal, classes_of, ends_of
from driftway.learners.conformal.coverage import CoverageMetrics
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.worker.wire.columns import Floats, Integers
from driftway.worker.wire.events import REGRESSION, Target

Count = Callable[[int, int], None]


class LearnerCoverage:
    """The thresholds of a learner's intervals or sets, and the metrics of their coverage.

    Parameters
    ----------
    learner : Learner
        The learner whose scores it takes.
    coverage : float
        Share of labels to be covered, see `driftway.learners.conformal.conformal.Conformal`.
    window : int
        Labels of the rolling window.

    Raises
    ------
    ValueError
        The coverage or the window is out of range.
    """

    def __init__(self, learner: Learner, coverage: float, window: int) -> None:
        self.conformal = Conformal(learner, coverage)
        self.metrics = CoverageMetrics(learner, coverage, window)

    def emit(
        self, score: Floats, y: Floats, slot: Integers = NO_SLOTS, waiting: Floats = NONE_WAITS
    ) -> tuple[Floats, Count]:
        """Return each row's threshold, and ``count(start, end)``, which adds a range of rows to the metrics.

        Parameters as of `driftway.learners.conformal.conformal.Conformal.emit`.
        """
        threshold = self.conformal.emit(score, y, slot, waiting)
        return threshold, self.metrics.counter(score, threshold, y)

    def continue_from(self, before: LearnerCoverage) -> None:
        """Go on where another one of the same learner and level stands; metrics as far as their window allows."""
        self.conformal.state.memory[:] = before.conformal.state.memory
        self.metrics.continue_from(before.metrics)


def coverage_fields(
    target: Target, coverage: float | None, score: Floats, threshold: Floats
) -> Callable[[int], dict[str, Any]]:
    """Return row of a block -> ``low`` and ``high``, None without end, or ``set``: indices of classes.

    Parameters
    ----------
    target : Target
        What is predicted.
    coverage : float or None
        The level; None: rows have no fields.
    score : f8[n, k]
        The block's scores.
    threshold : f8[n]
        Its thresholds.
    """
    if coverage is None:
        return lambda _: {}
    if target.task == REGRESSION:
        low, high = (end.tolist() for end in ends_of(score, threshold))
        return lambda i: {"low": finite_or_none(low[i]), "high": finite_or_none(high[i])}
    member = classes_of(score, threshold, target.n_classes)
    return lambda i: {"set": np.flatnonzero(member[i]).tolist()}


def finite_or_none(x: float) -> float | None:
    """The number as JSON has it: null for an end that an interval does not have."""
    return x if math.isfinite(x) else None
