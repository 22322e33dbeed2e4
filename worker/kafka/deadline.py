"""One time budget for a chain of blocking calls."""

from __future__ import annotations

import time


class Deadline:
    """A point in time that several calls share, so that their sum stays bounded.

    Parameters
    ----------
    seconds : float
        From now.
    per_call : float
        What a single call may take of it. A call that has not come back by then never will (librdkafka 5456), and is
        not to cost the whole budget.
    at_most : float
        How far `extend` may move the end, in seconds from now; by default not at all.
    """

    def __init__(self, seconds: float, per_call: float = float("inf"), at_most: float = 0.0) -> None:
        now = time.monotonic()
        self._end, self._last = now + seconds, now + max(seconds, at_most)
        self._per_call = per_call
        self._back_by = now + min(seconds, per_call)

    def remaining(self) -> float:
        """Seconds that the next call may take, never below 0.01: a zero means "do not wait at all" to the client."""
        now = time.monotonic()
        seconds = max(0.01, min(self._end - now, self._per_call))
        self._back_by = now + seconds
        return seconds

    @property
    def left(self) -> float:
        """Seconds left of the whole, 0 when it is used up."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() >= self._end

    def overdue_by(self, seconds: float) -> bool:
        """Whether the call that asked last for what remained should have been back `seconds` ago."""
        return time.monotonic() >= self._back_by + seconds

    def extend(self, seconds: float) -> None:
        """Give it at least so many seconds from now, because something is getting on; see `at_most`."""
        self._end = max(self._end, min(time.monotonic() + seconds, self._last))

    def expire(self) -> None:
        """Use the budget up now: who works under it gives up as soon as it looks."""
        self._end = self._last = min(self._end, time.monotonic())
