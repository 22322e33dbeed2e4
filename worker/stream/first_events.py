"""The first events of a new group: if none of them can be used, the worker stops before it commits anything.

A wrong schema or format rejects every event. Once such rejections are committed, a worker with the right options would
continue after them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from driftway.worker.errors import Failure, plural, shown
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.progress_log import example, other_format
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.rejections import format_counts, kind_of

FIRST_EVENTS = 1000
"""Rejected events, over all partitions of the worker, after which it stops if no event before them could be used."""
DELETIONS = "null", "deleted"
"""Kinds of rejections that say nothing about the options, since none could use tombstones or deleted rows."""
HOLD_SECONDS = 10.0
"""How long commits wait for a first usable event: rejections of a slow stream must become visible, and the broker
aborts a transaction that stays open for a minute."""


class NothingUsable(Failure):
    """All first events of a new group were rejected; nothing is committed."""


class FirstEvents:
    """Holds back the commits of a new group until an event can be used.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    tasks : mapping
        Partition -> task, as the loop keeps it.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(
        self, settings: WorkerSettings, tasks: Mapping[int, Task], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._tasks, self._clock = settings, tasks, clock
        self._kinds: Counter[str] = Counter()
        self._seen: dict[int, int] = {}
        """Partition -> offset after the last event seen: after a failed call events come again."""
        self._first = ""
        self._until = 0.0
        self._over = False

    def count(self, task: Task, outputs: Outputs | None) -> None:
        """Take into account what became of a batch.

        Raises
        ------
        NothingUsable
            FIRST_EVENTS events were rejected, and none could be used.
        """
        if self._over or outputs is None or not (outputs.rows or outputs.rejected):
            return
        if not task.is_new or (self._kinds and self._clock() >= self._until):
            self._release()
            return
        usable = int(outputs.offsets[0]) if outputs.rows else outputs.next_offset
        before = [bad for bad in outputs.rejected if bad.offset < usable and not bad.set_aside]
        if before:
            self._hold(task, before)
            if sum(n for kind, n in self._kinds.items() if kind not in DELETIONS) >= FIRST_EVENTS:
                raise self._failure(f"the first {plural(self._kinds.total(), 'event')}")
        if len(before) < outputs.rows + len(outputs.rejected):
            self._release()

    def require_usable(self) -> None:
        """Fail if all events were rejected; to be called when all are read.

        Raises
        ------
        NothingUsable
            They were, and nothing is committed.
        """
        if self._kinds and not self._over and self._clock() < self._until:
            raise self._failure(f"all {plural(self._kinds.total(), 'event')}")

    def _hold(self, task: Task, rejected: list[RejectedEvent]) -> None:
        """Count rejections, and let the task's commits wait."""
        if not self._kinds:
            bad = rejected[0]
            self._until = self._clock() + HOLD_SECONDS
            other = other_format(kind_of(bad.reason), bad.value)
            self._first = f"{task}@{bad.offset}: {shown(bad.reason)}: {example(bad.value)}{other and f'; {other}'}"
        seen = self._seen.get(task.partition, 0)
        self._kinds.update(kind_of(bad.reason) for bad in rejected if bad.offset >= seen)
        self._seen[task.partition] = max(seen, rejected[-1].offset + 1)
        task.held_until = self._until

    def _release(self) -> None:
        """Let commits go on, for good."""
        self._over = True
        for task in self._tasks.values():
            task.held_until = 0.0

    def _failure(self, which: str) -> NothingUsable:
        settings = self._settings
        return NothingUsable(
            f"{which} of {settings.input} were rejected ({format_counts(self._kinds)}), the first one {self._first}; "
            f"expected {settings.model.usage_example}; nothing was committed, so a start with other options begins at "
            f"the same events: `driftway schema infer {settings.input}` proposes options for events of another shape; "
            "--start OFFSET begins behind events that are to be left out"
        )
