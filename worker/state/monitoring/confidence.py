"""Confidence of a partition's predictions: a calibrator, and intervals or sets, for each learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.conformal import classes_of, ends_of
from driftway.learners.engine.state import Bytes, State
from driftway.learners.learner import REGRESSION, Learner
from driftway.learners.metrics.calibrator import FORM
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.learners.metrics.reliability import MILLION
from driftway.worker.settings import ModelSettings
from driftway.worker.state.monitoring.calibration import LearnerCalibration
from driftway.worker.state.monitoring.coverage import LearnerCoverage
from driftway.worker.wire.columns import NO_CONFIDENCE, Confidence, Floats, Integers

Count = Callable[[int, int], None]
NO_FORM = 0
"""Form of states without calibrators: see docs/decisions/0055."""


class Stateful(Protocol):
    """What has a state."""

    state: State

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""


class ModelOutput(NamedTuple):
    """What a model emits for n rows, or operations."""

    score: Floats
    """f8[n, k]"""
    probability: Integers | None
    """i8[n]: probabilities of the predictions, in millionths; None: they have none."""
    threshold: Floats | None
    """f8[n]: as `driftway.learners.conformal.conformal.Conformal.emit` has them; None: no intervals or sets."""

    def at(self, rows: Integers | None) -> ModelOutput:
        """Return what is emitted for some of them; None: for all."""
        if rows is None:
            return self
        return ModelOutput(*(None if one is None else one[rows] for one in self))  # type: ignore[arg-type]  # score is not


class LearnerConfidence:
    """What says how sure one learner's predictions are, with what it keeps of the rows that wait for their labels.

    Parameters
    ----------
    learner : Learner
        The learner whose scores it takes.
    window : int
        Rows of the rolling window.
    calibrated : bool
        Whether predictions of classes have a probability.
    coverage : float
        Share of the labels that intervals or sets are to cover; 0: none are emitted.
    slots : int
        How many rows wait at most.
    """

    def __init__(self, learner: Learner, window: int, calibrated: bool, coverage: float, slots: int) -> None:
        with_probability = calibrated and learner.task != REGRESSION
        self.calibrated = LearnerCalibration(learner, window) if with_probability else None
        self.coverage = LearnerCoverage(learner, coverage, window) if coverage else None
        self.probabilities = np.zeros(slots if with_probability else 0, np.int32)
        """i4[slots], of rows that wait."""
        self.thresholds = self.coverage.conformal.waiting(slots) if self.coverage is not None else np.zeros((0, 0))
        """f8[slots, ..], likewise."""

    @property
    def stateful(self) -> list[Stateful]:
        """What has a state, in the order of a saved one."""
        found = list[Stateful]()
        if self.calibrated is not None:
            found += self.calibrated.calibrator, self.calibrated.reliability
        if self.coverage is not None:
            found += self.coverage.conformal, self.coverage.metrics
        return found

    @property
    def waiting(self) -> list[NDArray[Any]]:
        """What is kept of each row that waits, [slots, ..] each."""
        kept = list[NDArray[Any]]()
        if self.calibrated is not None:
            kept.append(self.probabilities)
        if self.coverage is not None:
            kept.append(self.thresholds)
        return kept

    def emit(self, score: Floats, y: Floats, slot: Integers = NO_SLOTS) -> tuple[ModelOutput, list[Count]]:
        """Return what is emitted with scores, and ``count(start, end)`` functions, which add rows to the metrics.

        Parameters as of `driftway.learners.metrics.calibrator.Calibrator.calibrate`.
        """
        probability, threshold, counts = None, None, list[Count]()
        if self.calibrated is not None:
            probability, count = self.calibrated.emit(score, y, slot, self.probabilities)
            counts.append(count)
        if self.coverage is not None:
            threshold, count = self.coverage.emit(score, y, slot, self.thresholds)
            counts.append(count)
        return ModelOutput(score, probability, threshold), counts

    def points(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What an accuracy point says of probabilities, and of coverage."""
        calibration = {} if self.calibrated is None else self.calibrated.reliability.point()
        return calibration, {} if self.coverage is None else self.coverage.metrics.point()

    def bins(self) -> dict[str, Any]:
        """The bins of probabilities, as in an accuracy point."""
        return {} if self.calibrated is None else {"reliability": self.calibrated.reliability.bins()}

    def begin_with(self, calibration: bytes) -> None:
        """Begin with a calibrator's state from a model file, see `LearnerCalibration.begin_with`."""
        if self.calibrated is not None:
            self.calibrated.begin_with(calibration)

    def continue_from(self, before: LearnerConfidence) -> None:
        """Go on where another one of the same learner stands; intervals or sets, if they have the same level."""
        if self.calibrated is not None and before.calibrated is not None:
            self.calibrated.continue_from(before.calibrated)
        if self.coverage is not None and self._has_level_of(before) and before.coverage is not None:
            self.coverage.continue_from(before.coverage)

    def keep_waiting(self, slots: Integers, score: Floats, before: LearnerConfidence | None) -> None:
        """Keep what was emitted for the rows that wait in these slots, or emit it now where nothing was.

        Parameters
        ----------
        slots : i8[n]
            Where they wait.
        score : f8[n, k]
            Their scores.
        before : LearnerConfidence or None
            What has emitted for them; None: the learner is new. Of a new level, too, they have no ends, or all classes.
        """
        unlabelled = np.full(len(slots), np.nan)
        if self.calibrated is not None:
            known = None if before is None or before.calibrated is None else before.probabilities[slots]
            calibrator = self.calibrated.calibrator
            self.probabilities[slots] = calibrator.calibrate(score, unlabelled) if known is None else known
        if self.coverage is not None:
            if before is not None and self._has_level_of(before):
                self.thresholds[slots] = before.thresholds[slots]
            else:
                self.coverage.conformal.emit(score, unlabelled, slots, self.thresholds)

    def adopt_waiting(self, own: Integers, other: LearnerConfidence, theirs: Integers) -> None:
        """Keep in the slots `own` what another one of the same learner has emitted for rows in its slots `theirs`."""
        if self.calibrated is not None and other.calibrated is not None:
            self.probabilities[own] = other.probabilities[theirs]
        if self.coverage is not None and self._has_level_of(other):
            self.thresholds[own] = other.thresholds[theirs]

    def check_waiting(self, slots: Integers) -> None:
        """Check what is kept of the rows that wait in these slots, after it was loaded.

        Raises
        ------
        ValueError
            It is out of range.
        """
        if self.calibrated is not None:
            found = self.probabilities[slots]
            if ((found < 0) | (found >= MILLION)).any():
                raise ValueError("a saved waiting row has a probability outside 0..1")
        if self.coverage is not None:
            self.coverage.conformal.check_waiting(self.thresholds[slots])

    def _has_level_of(self, other: LearnerConfidence) -> bool:
        own, theirs = self.coverage, other.coverage
        return own is not None and theirs is not None and own.metrics.coverage == theirs.metrics.coverage


class ModelConfidence:
    """Those of a partition's learners; none before the learners are known.

    Parameters
    ----------
    task : str
        The target's.
    """

    def __init__(self, task: str) -> None:
        self.form = NO_FORM if task == REGRESSION else FORM
        """NO_FORM also in a history that an earlier version began: its predictions have no probability."""
        self.models: list[LearnerConfidence] = []

    def begin(self, learners: Iterable[Learner], settings: ModelSettings) -> None:
        """Begin anew behind these learners, the one from a model file with the calibrator in it."""
        slots, warm = 0 if settings.wait is None else settings.wait.rows, settings.warm
        self.models = [
            LearnerConfidence(learner, settings.window, bool(self.form), settings.coverage, slots)
            for learner in learners
        ]
        if self.models and warm is not None and settings.warm_model is not None:
            self.models[settings.warm_model].begin_with(warm.calibration)

    @property
    def champion_state(self) -> bytes:
        """State of the calibrator behind the champion; empty if there is none."""
        calibrated = self.models[0].calibrated if self.models else None
        return b"" if calibrated is None else calibrated.calibrator.state.memory.tobytes()

    @property
    def stateful(self) -> list[Stateful]:
        """What has a state, in the order of a saved one."""
        return [part for one in self.models for part in one.stateful]

    @property
    def waiting(self) -> list[NDArray[Any]]:
        """What is kept of each row that waits, [slots, ..] each."""
        return [kept for one in self.models for kept in one.waiting]

    def emit(self, scores: Sequence[Floats], y: Floats, slot: Integers) -> tuple[list[ModelOutput], list[Count]]:
        """As `LearnerConfidence.emit`, for each learner."""
        found = [one.emit(score, y, slot) for one, score in zip(self.models, scores, strict=True)]
        return [emitted for emitted, _ in found], [count for _, counts in found for count in counts]


def as_written(emitted: ModelOutput, n_classes: int) -> Confidence:
    """Return what predictions say of how sure they are; `n_classes` is 0 in regression."""
    _, probability, threshold = emitted
    if threshold is None:
        return NO_CONFIDENCE if probability is None else Confidence(probability)
    if not n_classes:
        return Confidence(probability, ends=ends_of(emitted.score, threshold))
    return Confidence(probability, members=classes_of(emitted.score, threshold, n_classes))
