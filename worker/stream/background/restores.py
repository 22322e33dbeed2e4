"""Restores that run in the background: see `driftway.worker.stream.task.restoring.restore` for what one does."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.stream.background.call import BackgroundCall, await_all
from driftway.worker.stream.task.restoring.restore import restore
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task

MAX_CONCURRENT = 8
"""Restores at a time: they mostly wait for the broker, but also read and load snapshots."""
CALL_SECONDS = 4.0
"""Time limit of one call of a restore: one that does not return is soon abandoned, and the restore starts again."""
MAX_SECONDS = 3600.0
"""Longest time that a restore may take while records keep arriving."""


class PendingRestores:
    """The running and the queued restores, at most one per partition.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    ids : TopicIdReader
        Asks for the ids of its input topics.
    """

    def __init__(self, settings: WorkerSettings, ids: TopicIdReader) -> None:
        self._settings, self._ids = settings, ids
        self.initial_partitions: int | None = None
        """Partitions of the input when the group started; one that was added later is read from its beginning."""
        self._underway: dict[int, BackgroundCall[RestoreResult]] = {}
        self._queued: dict[int, tuple[Task, float]] = {}

    def __len__(self) -> int:
        return len(self._underway)

    def submit(self, task: Task, seconds: float) -> None:
        """Queue a task's restore; once it starts, it has `seconds` to finish, or to make progress."""
        self._queued[task.partition] = task, seconds
        self._start_queued()

    def collect(self) -> list[BackgroundCall[RestoreResult]]:
        """Forget and return restores that have finished or got stuck, and start queued ones."""
        ended = [call for call in self._underway.values() if call.done or call.timed_out]
        for call in ended:
            del self._underway[call.task.partition]
        self._start_queued()
        return ended

    def cancel(self, partitions: Collection[int], deadline: Deadline) -> list[BackgroundCall[RestoreResult]]:
        """Forget the restores of partitions; make the started ones give up, wait for them, and return them."""
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
        settings, checkpoint = self._settings, task.checkpoint
        in_memory_offset, gap, since = task.in_memory_offset, task.input_count.gap, time.monotonic()
        if self.initial_partitions is not None and task.partition >= self.initial_partitions:
            settings = replace(settings, start=EARLIEST)

        def call() -> RestoreResult:
            ids = self._ids.ask(deadline, since)
            return restore(settings, task.partition, checkpoint, task.new_model, deadline, in_memory_offset, ids, gap)

        return BackgroundCall(task, "restore", call, deadline)
