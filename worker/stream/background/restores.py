"""Restores that run beside the loop: see `driftway.worker.stream.task.restore` for what one does."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.stream.background.call import BackgroundCall, await_all
from driftway.worker.stream.task.restore import restore
from driftway.worker.stream.task.restore_plan import RestoreResult
from driftway.worker.stream.task.task import Task

MAX_CONCURRENT = 8
"""They mostly wait for the broker, but also read and relearn."""
CALL_SECONDS = 4.0
"""What one call of a restore may take: one that does not come back is soon left behind, and the restore begun anew."""
MAX_SECONDS = 3600.0
"""How long a restore may take whose records keep coming."""


class PendingRestores:
    """The restores on their way and those that wait for a place, at most one per partition.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self.initial_partitions: int | None = None
        """Of the input when the group began; a partition that came later is read from its beginning."""
        self._underway: dict[int, BackgroundCall[RestoreResult]] = {}
        self._queued: dict[int, tuple[Task, float]] = {}

    def __len__(self) -> int:
        return len(self._underway)

    def submit(self, task: Task, seconds: float) -> None:
        """Start a task's restore, as soon as there is a place; it then has `seconds` to end, or to get on."""
        self._queued[task.partition] = task, seconds
        self._start_queued()

    def collect(self) -> list[BackgroundCall[RestoreResult]]:
        """Those that are over, or stuck; they are forgotten, and others take their places."""
        ended = [call for call in self._underway.values() if call.done or call.timed_out]
        for call in ended:
            del self._underway[call.task.partition]
        self._start_queued()
        return ended

    def cancel(self, partitions: Collection[int], deadline: Deadline) -> list[BackgroundCall[RestoreResult]]:
        """Forget the restores of partitions, after having waited for their end; return those still on their way."""
        for partition in partitions:
            self._queued.pop(partition, None)
        calls = [self._underway.pop(partition) for partition in partitions if partition in self._underway]
        for call in calls:
            call.deadline.expire()
        await_all(calls, deadline)
        return calls

    def _start_queued(self) -> None:
        while self._queued and len(self._underway) < MAX_CONCURRENT:
            task, seconds = self._queued.pop(next(iter(self._queued)))
            self._underway[task.partition] = self._start(task, Deadline(seconds, CALL_SECONDS, MAX_SECONDS))

    def _start(self, task: Task, deadline: Deadline) -> BackgroundCall[RestoreResult]:
        settings, checkpoint, remembered = self._settings, task.checkpoint, task.in_memory_offset
        if self.initial_partitions is not None and task.partition >= self.initial_partitions:
            settings = replace(settings, start=EARLIEST)

        def call() -> RestoreResult:
            return restore(settings, task.partition, checkpoint, task.new_model, deadline, remembered)

        return BackgroundCall(task, "restore", call, deadline)
