"""Time that a test moves."""

from __future__ import annotations


class Clock:
    """Stands still until `now` is moved; in the place of the module `time`, or of a function that tells the time."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    __call__ = monotonic
