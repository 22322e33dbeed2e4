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

from worker.checkpoint import Unfinished
from worker.deadline import Deadline
from worker.errors import Unreachable
from worker.task import Task

GRACE_SECONDS = 5.0
"""What an errand may outlast its deadline by before it counts as stuck."""
Found = TypeVar("Found")


class Errand(Generic[Found]):
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
    """

    def __init__(self, task: Task, name: str, call: Callable[[], Found], deadline: Deadline) -> None:
        self.task = task
        self.name = name
        self.deadline = deadline
        self._checkpoint = task.checkpoint
        self.future: Future[Found] = Future()
        self._left_behind = False
        self._started = time.monotonic()
        self.thread = threading.Thread(target=self._run, args=(call,), name=f"{name} {task.partition}", daemon=True)
        self.thread.start()

    @property
    def seconds(self) -> float:
        """Since its start."""
        return time.monotonic() - self._started

    @property
    def over(self) -> bool:
        """Whether it has come back."""
        return self.future.done()

    @property
    def stuck(self) -> bool:
        """Whether it should have come back long ago."""
        return not self.over and self.deadline.passed_by(GRACE_SECONDS)

    def result(self) -> Found:
        """What the call returned.

        Raises
        ------
        BaseException
            What the call raised; Unfinished if it has not come back.
        """
        if not self.over:
            raise Unfinished(f"the client did not come back from the {self.name}")
        return self.future.result()

    def leave_behind(self) -> None:
        """Nobody waits for it any more: the checkpoint is its own, and ends with it.

        A client with delivery reports that nobody fetches would keep itself alive.
        """
        self._left_behind = True
        if self.over:
            self._checkpoint.discard()

    def _run(self, call: Callable[[], Found]) -> None:
        try:
            self.future.set_result(call())
        except BaseException as error:  # handed to the loop, which raises it
            self.future.set_exception(error)
        if self._left_behind:
            self._checkpoint.discard()


def await_all(errands: Collection[Errand[Any]]) -> None:
    """Wait until all of them are over, or stuck."""
    longest = max((errand.deadline.remaining() for errand in errands), default=0.0)
    wait([errand.future for errand in errands], timeout=longest + GRACE_SECONDS + 0.1)


def end_process(errand: Errand[Any]) -> NoReturn:
    """End the process at once: a client that it cannot do without is stuck, and can neither be closed nor destroyed."""
    place = f"{errand.task.settings.input}/{errand.task.partition}"
    with contextlib.suppress(OSError):  # a log that cannot be written must not keep it alive
        sys.stderr.write(f"driftway: the client did not come back from the {errand.name} of {place}\n")
        sys.stderr.flush()
    os._exit(Unreachable.exit_code)
