"""Restores that run beside the loop: see `driftway.worker.stream.task.restore` for what one does."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.stream.background.call import Errand, await_all
from driftway.worker.stream.task.restore import restore
from driftway.worker.stream.task.restore_plan import Resumption
from driftway.worker.stream.task.task import Task

AT_ONCE = 8
"""They mostly wait for the broker, but also read and relearn."""
CALL_SECONDS = 4.0
"""What one call of a restore may take: one that does not come back is soon left behind, and the restore begun anew."""
LONGEST_SECONDS = 3600.0
"""How long a restore may take whose records keep coming."""


class RestoreErrands:
    """The restores on their way and those that wait for a place, at most one per partition.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self.partitions_at_first: int | None = None
        """Of the input when the group began; a partition that came later is read from its beginning."""
        self._underway: dict[int, Errand[Resumption]] = {}
        self._waiting: dict[int, tuple[Task, float]] = {}

    def __len__(self) -> int:
        return len(self._underway)

    def begin(self, task: Task, seconds: float) -> None:
        """Start a task's restore, as soon as there is a place; it then has `seconds` to end, or to get on."""
        self._waiting[task.partition] = task, seconds
        self._fill()

    def conclude(self) -> list[Errand[Resumption]]:
        """Those that are over, or stuck; they are forgotten, and others take their places."""
        ended = [errand for errand in self._underway.values() if errand.over or errand.stuck]
        for errand in ended:
            del self._underway[errand.task.partition]
        self._fill()
        return ended

    def forget(self, partitions: Collection[int], deadline: Deadline) -> list[Errand[Resumption]]:
        """Forget the restores of partitions, after having waited for their end; return those still on their way."""
        for partition in partitions:
            self._waiting.pop(partition, None)
        errands = [self._underway.pop(partition) for partition in partitions if partition in self._underway]
        for errand in errands:
            errand.deadline.expire()
        await_all(errands, deadline)
        return errands

    def _fill(self) -> None:
        while self._waiting and len(self._underway) < AT_ONCE:
            task, seconds = self._waiting.pop(next(iter(self._waiting)))
            self._underway[task.partition] = self._start(task, Deadline(seconds, CALL_SECONDS, LONGEST_SECONDS))

    def _start(self, task: Task, deadline: Deadline) -> Errand[Resumption]:
        settings, checkpoint, remembered = self._settings, task.checkpoint, task.remembered
        if self.partitions_at_first is not None and task.partition >= self.partitions_at_first:
            settings = replace(settings, start=EARLIEST)

        def call() -> Resumption:
            return restore(settings, task.partition, checkpoint, task.new_model, deadline, remembered)

        return Errand(task, "restore", call, deadline)
