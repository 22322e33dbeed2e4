"""When the worker's partitions commit: after each commit interval, and less often while a backlog is read.

Each commit costs requests and markers, however few rows it has. With many partitions that is more than the rows cost.
While the worker reads a backlog nobody waits for its newest outputs: they are late already. So commits are postponed
until a partition's transaction has many rows, for at most a second, as long as the rows still to be read would take
longer than that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from driftway.worker.kafka.interface import Member
from driftway.worker.stream.task.task import Task

POSTPONED_SECONDS = 1.0
"""Longest commit interval while a backlog is read, if the worker's own is shorter."""
POSTPONED_ROWS = 20_000
"""Rows of a transaction that is not postponed: with more, a commit hardly costs less for each row."""
POLL_SECONDS = 0.01
"""Longest wait for messages while commits are postponed."""


class CommitInterval:
    """The time since the worker's last commits began, which is common to its partitions.

    Parameters
    ----------
    tasks : mapping
        Partition -> its task; the worker's own mapping, which changes.
    """

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self._began_at = time.monotonic()
        self._positions: dict[int, int] = {}
        """Partition -> its task's position when the interval began."""
        self._postponed = False

    def begin(self) -> None:
        """Begin the next interval."""
        self._began_at, self._postponed = time.monotonic(), False
        self._positions = {partition: task.position for partition, task in self._tasks.items()}
        for task in self._tasks.values():
            task.interval_began_at = self._began_at

    @property
    def seconds_left(self) -> float:
        """Longest wait for messages until it must be asked again whether commits are due; infinite if none are open."""
        if self._postponed:
            return POLL_SECONDS
        return max(0.0, min((task.due_at for task in self._tasks.values()), default=float("inf")) - time.monotonic())

    def has_passed(self, member: Member) -> bool:
        """Whether the worker's commits are due; `member` tells how much is still to be read."""
        now = time.monotonic()
        due = any(now >= task.due_at for task in self._tasks.values())
        self._postponed = due and self._may_wait(member, now - self._began_at)
        return due and not self._postponed

    def _may_wait(self, member: Member, elapsed: float) -> bool:
        """Whether the backlog takes longer than POSTPONED_SECONDS, at the speed of this interval."""
        if elapsed >= POSTPONED_SECONDS:
            return False
        if any(task.open_rows >= min(task.transaction_size.max_rows, POSTPONED_ROWS) for task in self._tasks.values()):
            return False
        read = backlog = 0
        for partition, task in self._tasks.items():
            if task.running:
                read += task.position - self._positions.get(partition, task.position)
                backlog += max(0, member.fetched_end(partition) - task.position)
        return 0 < read * POSTPONED_SECONDS < backlog * elapsed
