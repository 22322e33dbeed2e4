"""How sure a partition's predictions are: a calibrator behind each classification learner, and how good it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.calibration.calibrator import FORM, Calibrator, Millionths
from driftway.learners.learner import REGRESSION, Learner
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.reliability import ReliabilityMetrics
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.pending_rows import PendingRows
from driftway.worker.wire.columns import Integers

Floats = NDArray[np.float64]
Count = Callable[[int, int], None]
NO_FORM = 0
"""Form of states without calibrators: see docs/decisions/0055."""


class Calibrated:
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

        Parameters as of `driftway.learners.calibration.calibrator.Calibrator.calibrate`.
        """
        emitted = self.calibrator.calibrate(score, y, slot, waiting)
        return emitted, self.reliability.counter(emitted, predicted_class(score, self.kind), y)

    def continue_from(self, before: Calibrated) -> None:
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
            self.calibrator.check_state(found := np.frombuffer(memory, np.uint8))
            self.calibrator.state.memory[:] = found


class CalibratedModels:
    """Those of a partition's learners; none in regression, and before the learners are known.

    Parameters
    ----------
    task : str
        The target's.
    """

    def __init__(self, task: str) -> None:
        self.form = NO_FORM if task == REGRESSION else FORM
        """NO_FORM also in a history that an earlier version began: its predictions have no probability."""
        self.models: list[Calibrated] = []
        self._learners = 0

    def begin(self, learners: Sequence[Learner], settings: ModelSettings, pending: PendingRows | None) -> None:
        """Begin anew behind these learners, the one from a model file with the calibrator in it."""
        self._learners, warm = len(learners), settings.warm
        calibrated = self.form and settings.target.task != REGRESSION
        self.models = [Calibrated(learner, settings.window) for learner in learners] if calibrated else []
        if self.models and warm is not None and settings.warm_model is not None:
            self.models[settings.warm_model].begin_with(warm.calibration)
        if pending is not None:
            pending.keep_probabilities(len(self.models))

    @property
    def champion_state(self) -> bytes:
        """State of the calibrator behind the champion; empty if there is none."""
        return self.models[0].calibrator.state.memory.tobytes() if self.models else b""

    @property
    def stateful(self) -> list[Calibrator | ReliabilityMetrics]:
        """What has a state, in the order of a saved one."""
        return [part for one in self.models for part in (one.calibrator, one.reliability)]

    def emit(
        self, scores: Sequence[Floats], y: Floats, slot: Integers, waiting: Sequence[Millionths]
    ) -> tuple[list[Integers], list[Count]]:
        """As `Calibrated.emit`, for each learner."""
        places: Sequence[Millionths | None] = waiting or [None] * len(self.models)
        found = [
            one.emit(score, y, slot, place) for one, score, place in zip(self.models, scores, places, strict=False)
        ]
        return [emitted for emitted, _ in found], [count for _, count in found]

    def fields(self) -> list[dict[str, Any]]:
        """What each learner's accuracy point says of its probabilities."""
        return [one.reliability.point() for one in self.models] or [{}] * self._learners

    def bins(self) -> list[dict[str, Any]]:
        """The bins of each learner's probabilities, as in its accuracy point."""
        return [{"reliability": one.reliability.bins()} for one in self.models] or [{}] * self._learners
