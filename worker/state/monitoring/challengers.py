"""Tests of a partition's challengers against its champion, and what accuracy points say about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from driftway.learners.learner import Learner
from driftway.learners.metrics.e_process import EProcess
from driftway.worker.state.monitoring.alarms import errors_of
from driftway.worker.wire.columns import Floats, Integers


class ChallengerTests:
    """One e-process for each challenger; none before the learners are known."""

    def __init__(self) -> None:
        self.enabled = True
        """False in a history that an earlier version began: its states have no tests, see docs/decisions/0050."""
        self.processes: list[EProcess] = []
        self._kinds: list[str] = []

    def begin(self, learners: Sequence[Learner]) -> None:
        """Begin to test the challengers, which follow the champion in `learners`."""
        self._kinds = [learner.kind for learner in learners]
        self.processes = [EProcess() for _ in learners[1:]] if self.enabled else []

    def continue_without(self, found: int, expected: int) -> bool:
        """Disable the tests if a state has `found` parts where `expected` with the tests' are, and just these lack."""
        lacks = self.enabled and found == expected - len(self.processes) < expected
        if lacks:
            self.enabled, self.processes = False, []
        return lacks

    def counters(self, scores: Sequence[Floats], y: Floats, offsets: Integers) -> list[Callable[[int, int], None]]:
        """Prepare a batch for each challenger, as `EProcess.counter`.

        Shapes: scores f8[n, k] of each learner, those that were emitted; y f8[n], offsets i8[n].
        """
        if not self.processes:
            return []
        champion, *others = (errors_of(score, y, kind) for score, kind in zip(scores, self._kinds, strict=True))
        return [one.counter(champion, errors, offsets) for one, errors in zip(self.processes, others, strict=True)]

    def fields(self) -> list[dict[str, Any]]:
        """What each learner's accuracy point says of its test; nothing for the champion."""
        tested = [process.point() for process in self.processes]
        return [{}] * (len(self._kinds) - len(tested)) + tested
