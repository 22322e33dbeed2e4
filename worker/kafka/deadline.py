"""One time budget for a chain of blocking calls, and a thread for a call that may not return."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Returned = TypeVar("Returned")


class Deadline:
    """A point in time that several calls share, so that their sum stays bounded.

    Parameters
    ----------
    seconds : float
        Budget from now on.
    per_call : float
        Limit of a single call. A call that has not returned by then never will (librdkafka 5456), and must not use up
        the whole budget.
    at_most : float
        Limit of `extend`, in seconds from now; by default it cannot move the end.
    """

    def __init__(self, seconds: float, per_call: float = float("inf"), at_most: float = 0.0) -> None:
        now = time.monotonic()
        self._end, self._last = now + seconds, now + max(seconds, at_most)
        self._per_call = per_call
        self._back_by = now + min(seconds, per_call)

    def remaining(self) -> float:
        """Return the seconds that the next call may take, at least 0.01: the client takes 0 as "do not wait"."""
        now = time.monotonic()
        seconds = max(0.01, min(self._end - now, self._per_call))
        self._back_by = now + seconds
        return seconds

    @property
    def left(self) -> float:
        """Seconds left of the whole budget, 0 when it is used up."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() >= self._end

    def overdue_by(self, seconds: float) -> bool:
        """Return whether the last call limited by `remaining` should have returned at least `seconds` ago."""
        return time.monotonic() >= self._back_by + seconds

    def extend(self, seconds: float) -> None:
        """Extend the budget to at least `seconds` from now, because there is progress; see `at_most`."""
        self._end = max(self._end, min(time.monotonic() + seconds, self._last))

    def expire(self) -> None:
        """End the budget now: whoever works under it gives up at the next check."""
        self._end = self._last = min(self._end, time.monotonic())


def complete(future: Future[Returned], call: Callable[[], Returned]) -> None:
    """Make a call, and hand what it returns or raises to the future's owner."""
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)


def on_thread(call: Callable[[], Returned], name: str) -> Future[Returned]:
    """Make a call on a thread of its own, a daemon: one that never returns does not keep the process from ending."""
    future: Future[Returned] = Future()
    threading.Thread(target=complete, args=(future, call), name=name, daemon=True).start()
    return future
