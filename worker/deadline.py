"""One time budget for a chain of blocking calls."""

from __future__ import annotations

import time


class Deadline:
    """A point in time that several calls share, so that their sum stays bounded.

    Parameters
    ----------
    seconds : float
        From now.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left, never below 0.01: a zero would mean "do not wait at all" to the client."""
        return max(0.01, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() >= self._end

    def passed_by(self, seconds: float) -> bool:
        """Whether the budget has been used up for `seconds`."""
        return time.monotonic() >= self._end + seconds

    def expire(self) -> None:
        """Use the budget up now: who works under it gives up as soon as it looks."""
        self._end = min(self._end, time.monotonic())
