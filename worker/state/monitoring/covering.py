"""Intervals or sets behind one learner of a partition, and how many labels they covered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.conformal import NONE_WAITS, Conformal
from driftway.learners.conformal.coverage import CoverageMetrics
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.worker.wire.columns import Integers

Floats = NDArray[np.float64]
Count = Callable[[int, int], None]


class Covering:
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
