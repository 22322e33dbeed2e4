"""Partitions whose task was fenced: most are on their way to another owner, some stay ours after all."""

from __future__ import annotations

import time

MOVING_SECONDS = 3.0
"""A fenced task's partition should be revoked or lost by then; otherwise it is ours, and is restored."""
SUCCESSION_SECONDS = 30.0
"""Fences further apart have nothing to do with each other."""
MOST = 5
"""Times in succession that a partition may be fenced without moving, before somebody else must be at work."""


class Fences:
    """What has been fenced, when, and how many times in succession."""

    def __init__(self) -> None:
        self._waiting: dict[int, float] = {}
        self._history: dict[int, tuple[int, float]] = {}

    def add(self, partition: int) -> None:
        """A task of ours was fenced now."""
        now = time.monotonic()
        times, latest = self._history.get(partition, (0, now))
        self._history[partition] = times + 1 if now - latest < SUCCESSION_SECONDS else 1, now
        self._waiting[partition] = now

    def moved(self, partition: int) -> None:
        """The partition has another owner now, or is assigned anew."""
        self._waiting.pop(partition, None)
        self._history.pop(partition, None)

    def stayed(self) -> list[int]:
        """Partitions that did not move in time, so that the fence came from a late predecessor; each is told once."""
        now = time.monotonic()
        found = [partition for partition, since in self._waiting.items() if now - since > MOVING_SECONDS]
        for partition in found:
            del self._waiting[partition]
        return found

    def too_often(self, partition: int) -> bool:
        """Whether somebody outside the group must be fencing it."""
        return self._history.get(partition, (0, 0.0))[0] > MOST
