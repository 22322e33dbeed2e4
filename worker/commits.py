"""Commits that run beside the loop: a commit is a wait for the broker, and the loop has better to do.

`Task.begin_commit` and `Task.end_commit` belong to the loop's thread; only `Task.carry` runs on a thread of this pool.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from worker.checkpoint import Unfinished
from worker.deadline import Deadline
from worker.snapshot import Pointer
from worker.task import Commit, Task

AT_ONCE = 32
"""Threads; they wait for the broker, not for the processor."""


@dataclass(frozen=True)
class Underway:
    """A commit on its way."""

    task: Task
    commit: Commit
    future: Future[Pointer | None]
    started: float


@dataclass(frozen=True)
class Outcome:
    """A commit that is over: how it went, and how long it took in seconds."""

    task: Task
    error: KafkaException | Unfinished | None
    seconds: float


class Commits:
    """The commits on their way, at most one per partition."""

    def __init__(self) -> None:
        self._underway: dict[int, Underway] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="commit")

    def __len__(self) -> int:
        return len(self._underway)

    def begin(self, tasks: Iterable[Task], membership: Any, deadline: Deadline, closing: bool) -> None:
        """Start the commits of `tasks`, side by side; parameters as `Task.begin_commit` and `Task.carry`."""
        now = time.monotonic()
        for task in tasks:
            commit = task.begin_commit(closing)
            future = self._pool.submit(task.carry, commit, membership, deadline)
            self._underway[task.partition] = Underway(task, commit, future, now)

    def wait(self) -> None:
        """Wait until all of them are over; each has its deadline."""
        wait([underway.future for underway in self._underway.values()])

    def conclude(self) -> Iterator[Outcome]:
        """End those that are over, and say how each went; a failed one is the caller's to settle."""
        for partition, underway in [(p, u) for p, u in self._underway.items() if u.future.done()]:
            del self._underway[partition]
            error = None
            try:
                underway.task.end_commit(underway.commit, underway.future.result())
            except (KafkaException, Unfinished) as failure:
                error = failure
            yield Outcome(underway.task, error, time.monotonic() - underway.started)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)
