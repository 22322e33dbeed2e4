"""Blocking calls of a task's clients, each in its own background thread.

A call into the client may never return when a broker restarts meanwhile (librdkafka issue 5456). So no wait is
unbounded: a stuck thread keeps its checkpoint, and the task continues with another one, whose first call fences the old
one and aborts its transaction. The threads are daemons, which do not keep a process from ending.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from typing import Any, Generic, NoReturn

from driftway.worker.errors import Unreachable
from driftway.worker.kafka.deadline import Deadline, Returned, complete, on_thread
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.stream.task.task import Task

GRACE_SECONDS = 3.0
"""How long a call may exceed its time limit before it counts as stuck."""


class BackgroundCall(Generic[Returned]):
    """A call that uses a task's checkpoint; until it has returned, nothing else may use that checkpoint.

    Parameters
    ----------
    task : Task
        The task that the call is for.
    name : str
        Name of the call in the log and of its thread.
    call : callable
        What to call. It must hold the checkpoint that the task has now, instead of asking the task later: by the time
        the thread runs, the task may have been given another one.
    deadline : Deadline
        The deadline that the call uses too.
    inline : bool
        Call at once on this thread, for what must not be called from another. If it gets stuck, the process ends.
    """

    def __init__(
        self, task: Task, name: str, call: Callable[[], Returned], deadline: Deadline, inline: bool = False
    ) -> None:
        self.task = task
        self.name = name
        self.deadline = deadline
        self._checkpoint = task.checkpoint
        self._started = time.monotonic()
        self.future = self._made_here(call) if inline else on_thread(call, f"{name} {task.partition}")

    @property
    def seconds(self) -> float:
        """Seconds since the call started."""
        return time.monotonic() - self._started

    @property
    def done(self) -> bool:
        """Whether the call has returned."""
        return self.future.done()

    @property
    def timed_out(self) -> bool:
        """Whether the call should have returned `GRACE_SECONDS` ago."""
        return not self.done and self.deadline.overdue_by(GRACE_SECONDS)

    def result(self) -> Returned:
        """Return what the call returned.

        Raises
        ------
        BaseException
            What the call raised; TimedOut if it has not returned.
        """
        if not self.done:
            raise TimedOut(f"the client did not return from the {self.name}")
        return self.future.result()

    def abandon(self) -> None:
        """Stop waiting for the call: its checkpoint is closed when it returns.

        A client with delivery reports that nobody polls would keep itself alive.
        """
        self.future.add_done_callback(lambda _: self._checkpoint.close_producer())

    def _made_here(self, call: Callable[[], Returned]) -> Future[Returned]:
        def end() -> None:
            end_process(f"the client did not return from the {self.name} of partition {self.task.partition}")

        watch = threading.Timer(self.deadline.left + GRACE_SECONDS, end)
        watch.daemon = True
        watch.start()
        future: Future[Returned] = Future()
        complete(future, call)
        watch.cancel()
        return future


def await_all(calls: Collection[BackgroundCall[Any]], deadline: Deadline) -> None:
    """Wait until all calls have returned, at most until the deadline."""
    wait([call.future for call in calls], timeout=deadline.left)


def call_with_timeout(call: Callable[[], Returned], seconds: float, what: str) -> Returned:
    """Make a call of the group member's client that has no timeout; end the process if it does not return in time.

    Raises
    ------
    Exception
        What the call raised.
    """
    future = on_thread(call, what)
    if not wait([future], timeout=seconds).done:
        end_process(f"the client did not return from {what}")
    return future.result()


def end_process(sentence: str) -> NoReturn:
    """End the process at once: a client that it needs is stuck, and can neither be closed nor destroyed."""
    with contextlib.suppress(OSError):  # a log that cannot be written must not keep it alive
        logging.getLogger("driftway.worker").error(sentence)
    os._exit(Unreachable.exit_code)
