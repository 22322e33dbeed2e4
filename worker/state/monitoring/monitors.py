"""Monitoring of a partition's models: metrics, tests of challengers, confidence of predictions, drift detectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from driftway.learners.engine.state import Bytes
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import NO_GUESSES
from driftway.learners.metrics.rolling import Metrics, create_metrics
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.pending_rows import OrderedBatch, PendingRows
from driftway.worker.state.monitoring.alarms import DriftAlarm, DriftMonitor
from driftway.worker.state.monitoring.challengers import ChallengerTests
from driftway.worker.state.monitoring.confidence import ModelConfidence, ModelOutput, Stateful
from driftway.worker.state.monitoring.points import Figures, accuracy_points
from driftway.worker.wire.columns import Floats

Observer = Callable[[OrderedBatch, list[Floats]], None]
Experts = Sequence[Sequence[dict[str, float]]]


class StateForm(NamedTuple):
    """What the states of a history have; one that an earlier version began has less, and goes on so."""

    tests_challengers: bool
    """See docs/decisions/0050."""
    calibration: int
    """Form of the calibrators, see docs/decisions/0055."""


def newest_form(task: str) -> StateForm:
    """What the states of a history have that this version began."""
    return StateForm(True, ModelConfidence(task).form)


class Observations(NamedTuple):
    """What came of a batch."""

    models: list[ModelOutput]
    """What each model emits for the batch's operations."""
    alarms: list[DriftAlarm]
    points: list[tuple[bytes, bytes]]
    """Accuracy points, as keys and values."""


class Monitors:
    """All that watches the learners of a partition; before these are known, there is nothing.

    Parameters
    ----------
    task : str
        The target's.
    identity_fields : callable
        As `driftway.worker.state.monitoring.points.accuracy_points` takes it.
    """

    def __init__(self, task: str, identity_fields: Callable[[str], dict[str, Any]]) -> None:
        self.digests: list[str] = []
        """As `driftway.worker.settings.ModelSettings.digests`."""
        self._identity_fields = identity_fields
        self.observer: Observer | None = None
        """Gets each batch as operations, with the scores emitted for their rows, f8[ops, k] for each learner."""
        self.metrics: list[Metrics] = []
        self.tests, self.confidence = ChallengerTests(), ModelConfidence(task)
        self.drift: DriftMonitor | None = None
        self._names: tuple[str, ...] = ()

    @property
    def form(self) -> StateForm:
        """What states have of the tests and the calibrators."""
        return StateForm(self.tests.enabled, self.confidence.form)

    def continue_as(self, form: StateForm) -> None:
        """Before `begin`: have only what the states of a history have."""
        self.tests.enabled, self.confidence.form = form

    def begin(self, learners: Sequence[Learner], settings: ModelSettings, pending: PendingRows | None) -> None:
        """Begin to watch learners, the champion first."""
        target, self._names = settings.target, settings.names
        self.metrics = [
            create_metrics(target.task, target.n_classes, learner.n_scores, settings.window) for learner in learners
        ]
        self.tests.begin(learners)
        self.confidence.begin(learners, settings)
        if pending is not None:
            pending.more_columns = self.confidence.waiting

    def end(self) -> None:
        """Forget the learners."""
        self.metrics, self.tests.processes, self.confidence.models, self.drift = [], [], [], None

    def watch_drift(self, settings: ModelSettings, kind: str, identity: dict[str, Any]) -> None:
        """Begin to watch the champion for drift, if there are detectors; arguments as of `DriftMonitor`."""
        if settings.detectors:
            self.drift = DriftMonitor(settings.detectors, kind, identity)

    @property
    def stateful(self) -> list[Stateful]:
        """What has a state, in the order of a saved one; the drift detectors come last, see `parts`."""
        return [*self.metrics, *self.tests.processes, *self.confidence.stateful]

    def parts(self) -> list[Bytes]:
        """The states, in the order of a saved one."""
        return [one.state.memory for one in self.stateful] + ([] if self.drift is None else self.drift.parts())

    def check(self, memories: Iterable[Bytes]) -> None:
        """Check saved states, in that order, as `driftway.learners.learner.Learner.check_state`.

        Raises
        ------
        ValueError
            A value is out of range.
        """
        detectors = () if self.drift is None else self.drift.detectors
        for one, memory in zip((*self.stateful, *detectors), memories, strict=False):
            one.check_state(memory)

    def check_waiting(self, pending: PendingRows) -> None:
        """Check what `pending` has loaded of rows that wait; raises as `check`."""
        for one in self.confidence.models:
            one.check_waiting(pending.waiting)

    def latest_points(self) -> dict[str, dict[str, Any]]:
        """Learner -> its current rolling metrics."""
        parts = zip(self._names, self.metrics, self.confidence.models, self.tests.fields(), strict=False)
        said = ((name, metrics.point(), *confidence.points(), tested) for name, metrics, confidence, tested in parts)
        return {
            name: {**point, **calibration, **coverage, **tested} for name, point, calibration, coverage, tested in said
        }

    def observe(
        self, steps: OrderedBatch, scores: list[Floats], experts: Experts, pending: PendingRows | None, tell: bool
    ) -> Observations:
        """Feed a batch to all that watches.

        Parameters
        ----------
        steps : OrderedBatch
            The batch, as operations.
        scores : list of f8[ops, k]
            What each learner has predicted.
        experts : sequence of sequence
            For each learner the weights of its experts behind each segment; empty if it is no mixture.
        pending : PendingRows or None
            The rows that wait for their labels.
        tell : bool
            Whether there are accuracy points, and alarms.
        """
        batch, guesses = steps.batch, [NO_GUESSES] * len(scores)
        if pending is not None:
            scores = pending.scores_at_prediction(steps, scores)
            guesses = pending.cached_guesses.shared(len(batch), len(scores))
        if self.observer is not None:
            self.observer(steps, scores)
        emitted, counters = self.confidence.emit(scores, batch.y, steps.slot)
        alarms = self.drift.observe(batch, scores[0]) if self.drift is not None and len(batch) else []
        counters += [
            metrics.counter(score, batch.y, steps.slot, own)
            for metrics, score, own in zip(self.metrics, scores, guesses, strict=True)
        ] + self.tests.counters(scores, batch.y, batch.offsets)
        found = Observations(emitted, alarms if tell else [], [])
        for number, piece in enumerate(steps.segments):
            for count in counters:
                count(piece.start, piece.end)
            drift = None
            if self.drift is not None:
                first, last = batch.offsets[piece.start], batch.offsets[piece.end - 1]
                self.drift.record([alarm for alarm in alarms if first <= alarm.offset <= last])
                drift = self.drift.take_pending() if piece.complete else None
            if tell and piece.complete:
                weights = ({"experts": own[number]} if own else {} for own in experts)
                bins = (one.bins() for one in self.confidence.models)
                figures = map(Figures, self.latest_points().items(), weights, bins, self.digests)
                found.points.extend(accuracy_points(figures, batch, piece, drift, self._identity_fields))
        return found
