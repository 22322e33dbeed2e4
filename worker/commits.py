"""Commits that run beside the loop: a commit is a wait for the broker, and the loop has better to do.

`Task.begin_commit` and `Task.end_commit` belong to the loop's thread; only `Task.carry` runs on one of these threads.

A call into the client may never return when a broker restarts under it (librdkafka issue 5456). So no wait here is
without end: a thread that is stuck keeps its checkpoint, and the task goes on with another one, whose first call fences
the old one and aborts what it had open. The threads are daemons that do not keep a process from ending.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NoReturn

from confluent_kafka import KafkaException

from worker.checkpoint import Unfinished
from worker.deadline import Deadline
from worker.errors import Unreachable
from worker.snapshot import Pointer
from worker.task import Commit, Task

AT_ONCE = 32
"""Threads; they wait for the broker, not for the processor."""
GRACE_SECONDS = 5.0
"""What a commit may outlast its deadline by before it counts as stuck."""


@dataclass(frozen=True)
class Underway:
    """A commit on its way."""

    task: Task
    commit: Commit
    future: Future[Pointer | None]
    started: float
    deadline: Deadline


@dataclass(frozen=True)
class Outcome:
    """A commit that is over: how it went, and how long it took in seconds."""

    task: Task
    error: KafkaException | Unfinished | None
    seconds: float
    stuck: bool = False
    """Its thread has not come back and keeps the checkpoint: the task needs another one before anything else."""


class Commits:
    """The commits on their way, at most one per partition."""

    def __init__(self) -> None:
        self._underway: dict[int, Underway] = {}
        self._work: SimpleQueue[tuple[Underway, Any]] = SimpleQueue()
        self._threads = 0

    def __len__(self) -> int:
        return len(self._underway)

    def begin(self, tasks: Iterable[Task], membership: Any, deadline: Deadline, closing: bool) -> None:
        """Start the commits of `tasks`, side by side; parameters as `Task.begin_commit` and `Task.carry`."""
        now = time.monotonic()
        for task in tasks:
            future: Future[Pointer | None] = Future()
            underway = Underway(task, task.begin_commit(closing), future, now, deadline)
            self._underway[task.partition] = underway
            self._work.put((underway, membership))
        while self._threads < min(AT_ONCE, len(self._underway)):
            threading.Thread(target=self._serve, name="commit", daemon=True).start()
            self._threads += 1

    def wait(self) -> None:
        """Wait until all of them are over, or stuck."""
        longest = max((underway.deadline.remaining() for underway in self._underway.values()), default=0.0)
        wait([underway.future for underway in self._underway.values()], timeout=longest + GRACE_SECONDS + 0.1)

    def conclude(self) -> Iterator[Outcome]:
        """End those that are over or stuck, and say how each went; a failed one is the caller's to settle."""
        for partition, underway in list(self._underway.items()):
            seconds = time.monotonic() - underway.started
            if underway.future.done():
                del self._underway[partition]
                yield Outcome(underway.task, _end(underway), seconds)
            elif underway.deadline.passed_by(GRACE_SECONDS):
                del self._underway[partition]
                self._threads -= 1
                yield Outcome(underway.task, Unfinished("the client did not come back from it"), seconds, stuck=True)

    def _serve(self) -> None:
        """A thread's life."""
        while True:
            _carry(*self._work.get())


def _end(underway: Underway) -> KafkaException | Unfinished | None:
    """Conclude a commit that is over; return what went wrong."""
    try:
        underway.task.end_commit(underway.commit, underway.future.result())
    except (KafkaException, Unfinished) as failure:
        return failure
    return None


def end_process(place: str) -> NoReturn:
    """End the process at once: a client that it cannot do without is stuck, and can neither be closed nor destroyed."""
    with contextlib.suppress(OSError):  # a log that cannot be written must not keep it alive
        sys.stderr.write(f"driftway: the client never came back from the commit of {place}\n")
        sys.stderr.flush()
    os._exit(Unreachable.exit_code)


def _carry(underway: Underway, membership: Any) -> None:
    """Take a commit through its steps and note how it went."""
    try:
        underway.future.set_result(underway.task.carry(underway.commit, membership, underway.deadline))
    except BaseException as error:  # handed to the loop, which raises it
        underway.future.set_exception(error)
