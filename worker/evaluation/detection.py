"""Drift detectors on evaluated learners: compare their alarms with the stream's known concept changes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.drift.detector import DRIFT, Detector
from driftway.learners.spec import Spec
from driftway.worker.state.monitoring.alarms import errors_of, make_detectors
from driftway.worker.wire.events import Target

Array = NDArray[np.float64]

WITHIN = 1000
"""Rows after a change in which alarms belong to it; the first gives the detection delay, further ones are ignored."""


class Detection:
    """Runs drift detectors on each learner's errors, as a worker does on its champion's.

    Parameters
    ----------
    specs : sequence of Spec
        The detectors, valid for the target.
    target : Target
        What is predicted.
    changes : sequence of int
        Rows at which a new concept begins; empty if unknown.
    """

    def __init__(self, specs: Sequence[Spec], target: Target, changes: Sequence[int]) -> None:
        self._specs, self._target, self._changes = specs, target, changes
        self._watching: dict[str, list[tuple[str, Detector, list[int]]]] = {}
        self._rows = 0

    def observe(self, learner: str, kind: str, first: int, y: Array, score: Array, usable: NDArray[np.bool_]) -> None:
        """Observe the scores f8[n, k] of the rows from `first` on; only `usable` rows have scores."""
        if learner not in self._watching:
            made = zip(self._specs, make_detectors(self._specs, self._target.task), strict=True)
            self._watching[learner] = [(spec.text, detector, []) for spec, detector in made]
        labels, errors = self._target.indices(y)[0], np.full(len(y), np.nan)
        errors[usable] = errors_of(score[usable], labels[usable], kind)
        for _, detector, alarms in self._watching[learner]:
            alarms.extend((first + np.flatnonzero(detector.observe(errors) == DRIFT)).tolist())
        self._rows = first + len(y)

    def result(self, learner: str) -> dict[str, Any]:
        """Detector -> its alarms and, if changes are known, how well the alarms match them."""
        return {"detectors": {name: self._judged(rows) for name, _, rows in self._watching.get(learner, [])}}

    def _judged(self, alarms: list[int]) -> dict[str, Any]:
        changes = [change for change in self._changes if change < self._rows]
        counts: dict[str, Any] = {"alarms": len(alarms), "alarm_rows": alarms}
        if not changes:
            return counts
        spans = _spans(changes, self._rows)
        delays = [first_within(alarms, change, end) for change, end in spans]
        found = [delay for delay in delays if delay is not None]
        false = [row for row in alarms if not any(change <= row < end for change, end in spans)]
        calm = self._rows - sum(end - change for change, end in spans)
        return {
            **counts,
            "changes": len(changes),
            "missed": len(changes) - len(found),
            "delays": delays,
            "median_delay": median(found) if found else None,
            "false_alarms": len(false),
            "false_per_100000": 100_000 * len(false) / calm if calm else None,
        }


def in_columns(result: dict[str, Any]) -> dict[str, Any]:
    """Flatten a result, giving each detector's numbers columns of their own, such as ``adwin_missed``."""
    flat = {key: value for key, value in result.items() if key != "detectors"}
    for name, numbers in result.get("detectors", {}).items():
        flat |= {f"{name}_{key}": value for key, value in numbers.items() if key not in ("alarm_rows", "delays")}
    return flat


def first_within(alarms: list[int], change: int, end: int) -> int | None:
    """Rows from a change to the first alarm before `end`."""
    return next((row - change for row in alarms if change <= row < end), None)


def _spans(changes: Sequence[int], rows: int) -> list[tuple[int, int]]:
    """The rows (change, end) in which an alarm belongs to each change."""
    nexts = [*changes[1:], rows]
    return [(change, min(change + WITHIN, following)) for change, following in zip(changes, nexts, strict=True)]
