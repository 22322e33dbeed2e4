"""Blocking calls into a task's clients, each on a thread of its own beside the loop.

A call into the client may never return when a broker restarts under it (librdkafka issue 5456). So nothing waits
without end: a thread that is stuck keeps its checkpoint, and the task goes on with another one, whose first call fences
the old one and aborts what it had open. The threads are daemons that do not keep a process from ending.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from typing import Any, Generic, NoReturn, TypeVar

from driftway.worker.errors import Unreachable
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.stream.task.task import Task

GRACE_SECONDS = 3.0
"""What a call may outlast the time that it was given by, before its call counts as stuck."""
Returned = TypeVar("Returned")


class BackgroundCall(Generic[Returned]):
    """A call that uses a task's checkpoint, until it is over or stuck; meanwhile nobody else may use that checkpoint.

    Parameters
    ----------
    task : Task
        For whom.
    name : str
        What it is: a word for the log, and the thread's name.
    call : callable
        What to do. It has to hold on to the checkpoint that the task has now, instead of asking the task later: by the
        time the thread gets going the task may have been given another one.
    deadline : Deadline
        Known to the call as well.
    inline : bool
        Call it at once, on this thread: for what must not be called from another. The process ends if it is stuck.
    """

    def __init__(
        self, task: Task, name: str, call: Callable[[], Returned], deadline: Deadline, inline: bool = False
    ) -> None:
        self.task = task
        self.name = name
        self.deadline = deadline
        self._checkpoint = task.checkpoint
        self.future: Future[Returned] = Future()
        self._abandoned = False
        self._started = time.monotonic()
        self.thread = threading.Thread(target=self._run, args=(call,), name=f"{name} {task.partition}", daemon=True)
        if inline:
            self._run_here(call)
        else:
            self.thread.start()

    @property
    def seconds(self) -> float:
        """Since its start."""
        return time.monotonic() - self._started

    @property
    def done(self) -> bool:
        """Whether it has come back."""
        return self.future.done()

    @property
    def timed_out(self) -> bool:
        """Whether it should have come back long ago."""
        return not self.done and self.deadline.overdue_by(GRACE_SECONDS)

    def result(self) -> Returned:
        """What the call returned.

        Raises
        ------
        BaseException
            What the call raised; TimedOut if it has not come back.
        """
        if not self.done:
            raise TimedOut(f"the client did not come back from the {self.name}")
        return self.future.result()

    def abandon(self) -> None:
        """Nobody waits for it any more: the checkpoint is its own, and ends with it.

        A client with delivery reports that nobody fetches would keep itself alive.
        """
        self._abandoned = True
        if self.done:
            self._checkpoint.close_producer()

    def _run(self, call: Callable[[], Returned]) -> None:
        try:
            self.future.set_result(call())
        except BaseException as error:  # handed to the loop, which raises it
            self.future.set_exception(error)
        if self._abandoned:
            self._checkpoint.close_producer()

    def _run_here(self, call: Callable[[], Returned]) -> None:
        def end() -> None:
            end_process(f"the client did not come back from the {self.name} of partition {self.task.partition}")

        watch = threading.Timer(self.deadline.left + GRACE_SECONDS, end)
        watch.daemon = True
        watch.start()
        self._run(call)
        watch.cancel()


def await_all(calls: Collection[BackgroundCall[Any]], deadline: Deadline) -> None:
    """Wait until all of them are over, at most until the deadline."""
    wait([call.future for call in calls], timeout=deadline.left)


def call_with_timeout(call: Callable[[], Returned], seconds: float, what: str) -> Returned:
    """Call something of the group member's client that knows no time limit; end the process where it does not return.

    Raises
    ------
    Exception
        What the call raised.
    """
    future: Future[Returned] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # handed to the caller
            future.set_exception(error)

    threading.Thread(target=run, name=what, daemon=True).start()
    if not wait([future], timeout=seconds).done:
        end_process(f"the client did not come back from {what}")
    return future.result()


def end_process(sentence: str) -> NoReturn:
    """End the process at once: a client that it cannot do without is stuck, and can neither be closed nor destroyed."""
    with contextlib.suppress(OSError):  # a log that cannot be written must not keep it alive
        sys.stderr.write(f"driftway: {sentence}\n")
        sys.stderr.flush()
    os._exit(Unreachable.exit_code)
