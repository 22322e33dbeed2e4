"""When a worker with --stop-at-end has read everything, also where producers write on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping

from driftway.worker.stream.first_events import FirstEvents
from driftway.worker.stream.task.task import Task

LIVE_SECONDS = 10.0
"""How long a worker waits for a moment in which nothing is left to do, after each partition is committed to where its
log ended at first: where producers never pause, there is no such moment."""


class StopAtEnd:
    """Decides when such a worker stops.

    Parameters
    ----------
    tasks : mapping
        Partition -> task, as the loop keeps it.
    first_events : FirstEvents
        Knows whether any event of a new group could be used.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(
        self, tasks: Mapping[int, Task], first_events: FirstEvents, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tasks, self._first_events, self._clock = tasks, first_events, clock
        self._ends: dict[int, float] = {}
        """Partition -> where its log ended when that was known first; infinite: not known yet."""
        self._caught_up_at: float | None = None
        """When every partition was committed to there."""

    def has_come(self, at_end: Collection[int], ends: Mapping[int, int]) -> bool:
        """Whether every partition is running, read to its end and committed, and that is all there is to do.

        `at_end` are the partitions that are read to their end, `ends` where the logs ended at the last query. Where
        producers write on, the worker finishes LIVE_SECONDS after it has read what was there when it began.

        Raises
        ------
        NothingUsable
            All are read, and their events were rejected.
        """
        tasks = self._tasks
        if not tasks:
            return False
        if not all(task.running and p in at_end and not task.waiting_events for p, task in tasks.items()):
            return self._live_log_is_read(ends)
        self._first_events.require_usable()
        return not any(task.uncommitted for task in tasks.values()) or self._live_log_is_read(ends)

    def _live_log_is_read(self, ends: Mapping[int, int]) -> bool:
        """Whether every partition was committed, LIVE_SECONDS ago, to where its log ended; `ends` as in `has_come`."""
        tasks = self._tasks
        known = {p: ends.get(p, math.inf) if task.running else math.inf for p, task in tasks.items()}
        self._ends = {p: min(self._ends.get(p, math.inf), end) for p, end in known.items()}
        if any(task.committed < self._ends[p] for p, task in tasks.items()):
            self._caught_up_at = None
        elif self._caught_up_at is None:
            self._caught_up_at = self._clock()
        return self._caught_up_at is not None and self._clock() - self._caught_up_at > LIVE_SECONDS
