"""The champion's drift detectors, which watch its errors, and their alarms since the last accuracy point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.drift.detector import DRIFT, Detector
from driftway.learners.drift.registry import UnknownDetector, create, find
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import encode_alarm, key_of
from driftway.worker.wire.events import REGRESSION, Batch

NONE_YET = -1


class DriftAlarm(NamedTuple):
    """A detector's alarm at an input offset, and its output record."""

    detector: str
    offset: int
    key: bytes = b""
    value: bytes = b""


def make_detectors(specs: Sequence[Spec], task: str) -> list[Detector]:
    """Create new detectors; `task` is a target's task or a learner's `kind`.

    Raises
    ------
    UsageFailure
        No such detector, a parameter is not valid, or it cannot take the losses of a regression.
    """
    made = []
    for spec in specs:
        try:
            found = find(spec.name)
            if found.binary and task == REGRESSION:
                raise UsageFailure(f"detector {spec.name} counts mistakes, and a regression has none: use page_hinkley")
            made.append(create(spec.name, **dict(spec.parameters)))
        except (UnknownDetector, ParameterError) as error:
            raise UsageFailure(f"detector {spec.text}: {error}") from None
    return made


def errors_of(score: NDArray[np.float64], y: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """Errors for the detectors, f8[n]: 1 for a mistake and 0 for a hit, or the absolute error; NaN without a label.

    Shapes: score f8[n, k], y f8[n] class indices or targets.
    """
    with np.errstate(over="ignore"):
        missed: NDArray[np.float64] = np.abs(predicted_class(score, kind) - y)
    return missed if kind == REGRESSION else np.where(np.isnan(y), np.nan, missed != 0.0)


class DriftMonitor:
    """Detectors side by side, each of which observes the champion's error on every labelled row.

    Parameters
    ----------
    specs : sequence of Spec
        The detectors.
    kind : str
        The champion's `kind`.
    identity : mapping
        What alarm records say about the champion: ``learner``, ``group``, ``model_digest``, ``plan`` from the
        second on.

    Raises
    ------
    UsageFailure
        As `make_detectors`.
    """

    def __init__(self, specs: Sequence[Spec], kind: str, identity: Mapping[str, Any]) -> None:
        self._kind, self._identity = kind, identity
        self._names = [spec.text for spec in specs]
        self.detectors = make_detectors(specs, kind)
        self._pending = np.full(len(specs), NONE_YET, np.int64)
        """Offset of each detector's last alarm since the last accuracy point; part of the state."""

    def parts(self) -> list[NDArray[np.uint8]]:
        """The state: that of the detectors, and the alarms pending for the next accuracy point."""
        return [detector.state.memory for detector in self.detectors] + [self._pending.view(np.uint8)]

    def continue_from(self, before: DriftMonitor) -> None:
        """Go on with the states of the detectors that another monitor of the same champion has, too."""
        earlier = dict(zip(before._names, before.detectors, strict=True))
        for i, (name, detector) in enumerate(zip(self._names, self.detectors, strict=True)):
            if name in earlier:
                detector.state.memory[:] = earlier[name].state.memory
                self._pending[i] = before._pending[before._names.index(name)]

    def observe(self, batch: Batch, score: NDArray[np.float64]) -> list[DriftAlarm]:
        """Observe the champion's errors on a batch; return the alarms in row order."""
        errors, alarms = errors_of(score, batch.y, self._kind), []
        for name, detector in zip(self._names, self.detectors, strict=True):
            key = key_of(name, batch.partition)
            for row in np.flatnonzero(detector.observe(errors) == DRIFT).tolist():
                value = encode_alarm(name, batch, row, self._identity)
                alarms.append(DriftAlarm(name, int(batch.offsets[row]), key, value))
        return sorted(alarms, key=lambda alarm: alarm.offset)

    def record(self, called: Sequence[DriftAlarm]) -> None:
        """Keep alarms for the next accuracy point."""
        for alarm in called:
            self._pending[self._names.index(alarm.detector)] = alarm.offset

    def take_pending(self) -> dict[str, int] | None:
        """Return and clear the pending alarms: detector -> offset of its last one; None if there are none."""
        offsets = zip(self._names, self._pending.tolist(), strict=True)
        pending: dict[str, int] | None = {name: offset for name, offset in offsets if offset != NONE_YET} or None
        self._pending[:] = NONE_YET
        return pending
