"""Restores that run beside the loop: see `worker.restore` for what one does."""

from __future__ import annotations

from collections.abc import Collection
from threading import BoundedSemaphore

from worker.checkpoint import Unfinished
from worker.deadline import Deadline
from worker.errands import Errand, await_all
from worker.restore import Restored, restore
from worker.settings import WorkerSettings
from worker.task import Task

RESTORE_SECONDS = 60.0
AT_ONCE = 8
"""They mostly wait for the broker, but also read and relearn."""


class Restores:
    """The restores on their way, at most one per partition.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._underway: dict[int, Errand[Restored]] = {}
        self._places = BoundedSemaphore(AT_ONCE)

    def __len__(self) -> int:
        return len(self._underway)

    def begin(self, task: Task) -> None:
        """Start a task's restore."""
        deadline, checkpoint = Deadline(RESTORE_SECONDS), task.checkpoint

        def call() -> Restored:
            with self._places:
                if deadline.passed:
                    raise Unfinished("the restore was called off")
                return restore(self._settings, task.partition, checkpoint, task.new_model, deadline)

        self._underway[task.partition] = Errand(task, "restore", call, deadline)

    def conclude(self) -> list[Errand[Restored]]:
        """Those that are over, or stuck; they are forgotten."""
        ended = [errand for errand in self._underway.values() if errand.over or errand.stuck]
        for errand in ended:
            del self._underway[errand.task.partition]
        return ended

    def forget(self, partitions: Collection[int], wait: bool) -> list[Errand[Restored]]:
        """Forget the restores of partitions, after having waited for their end; return those still on their way."""
        errands = [self._underway.pop(partition) for partition in partitions if partition in self._underway]
        for errand in errands:
            errand.deadline.expire()
        if wait:
            await_all(errands)
        return errands
