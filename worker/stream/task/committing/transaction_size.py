"""How many rows a transaction may have, so that a slow or throttled broker takes it before its deadline.

Without a limit, the rows of a transaction that was not delivered in time would come again, as many as before.
"""

from __future__ import annotations

SHRINK, LEAST_ROWS, GROW, QUICK_SECONDS = 8, 100, 2, 5.0
"""A transaction that is not delivered in time is followed by one with an eighth of its rows, because each attempt takes
20 s or more, but not with fewer than LEAST_ROWS: then it was an outage. One that takes less than QUICK_SECONDS is
followed by one with twice as many."""


class TransactionSize:
    """The limit on the rows of one partition's transactions."""

    def __init__(self) -> None:
        self.max_rows = float("inf")
        """Rows with which a transaction is committed at once; infinite if the broker is fast enough."""

    def timed_out(self, rows: int) -> bool:
        """Record that a transaction of so many rows was not delivered in time; return whether the next are smaller."""
        before = min(self.max_rows, rows)
        limit = max(LEAST_ROWS, int(before) // SHRINK)
        if limit < before:
            self.max_rows = limit
        return limit < before

    def committed(self, rows: int, seconds: float, enough: int) -> None:
        """Record a commit; a limit of `enough` rows or more is none."""
        if rows >= self.max_rows and seconds < QUICK_SECONDS:
            self.max_rows = GROW * self.max_rows if GROW * self.max_rows < enough else float("inf")
