"""A clock that tests advance."""

from __future__ import annotations


class Clock:
    """Stands still until `now` is set; replaces the module `time`, or a function that returns the time."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    __call__ = monotonic
