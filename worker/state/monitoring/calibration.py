"""The calibrator of a classification learner, and its metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftway.learners.learner import Learner
from driftway.learners.metrics.calibrator import Calibrator, Millionths
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.reliability import ReliabilityMetrics
from driftway.worker.wire.columns import Floats, Integers

Count = Callable[[int, int], None]


class LearnerCalibration:
    """A calibrator, and the metrics of its probabilities.

    Parameters
    ----------
    learner : Learner
        The learner whose scores it takes.
    window : int
        Rows of the rolling window.
    """

    def __init__(self, learner: Learner, window: int) -> None:
        self.kind = learner.kind
        self.calibrator, self.reliability = Calibrator.behind(learner), ReliabilityMetrics(window)

    def emit(
        self, score: Floats, y: Floats, slot: Integers = NO_SLOTS, waiting: Millionths | None = None
    ) -> tuple[Integers, Count]:
        """Return each row's probability, and ``count(start, end)``, which adds a range of rows to the metrics.

        Parameters as of `driftway.learners.metrics.calibrator.Calibrator.calibrate`.
        """
        emitted = self.calibrator.calibrate(score, y, slot, waiting)
        return emitted, self.reliability.counter(emitted, predicted_class(score, self.kind), y)

    def continue_from(self, before: LearnerCalibration) -> None:
        """Go on where another one of the same learner stands; metrics as far as their window allows."""
        self.calibrator.state.memory[:] = before.calibrator.state.memory
        self.reliability.continue_from(before.reliability)

    def begin_with(self, memory: bytes) -> None:
        """Begin with a calibrator's state from a model file, if it is one of this calibrator.

        Raises
        ------
        ValueError
            A value in it is out of range: it is damaged.
        """
        if len(memory) == self.calibrator.state.nbytes:
            found = np.frombuffer(memory, np.uint8)
            self.calibrator.check_state(found)
            self.calibrator.state.memory[:] = found
