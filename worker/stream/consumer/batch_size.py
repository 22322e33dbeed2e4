"""How many rows a turn of the loop takes: those of about a second, so that the worker polls in time."""

from __future__ import annotations

from collections.abc import Iterable

from driftway.worker.kafka.consumer_columns import TURN_MESSAGES

FIRST_BATCH = 32
"""Rows of the first batch, few enough for the slowest learners; doubled while turns stay short."""
TURN_SECONDS = 1.0
"""Longest time that a batch should take: a slow learner gets smaller ones."""
LARGE_BATCH, PROMPT_SECONDS = 10_000, 0.1
"""From so many rows on batches grow only while they take less than this, the usual commit interval."""


class BatchSize:
    """The most rows of the next batch."""

    def __init__(self) -> None:
        self.rows = FIRST_BATCH

    def adapt(self, seconds: float, rows: int, full: bool = False) -> None:
        """Choose the next batch by how long the last one, of `rows` rows, took; `full`: it left some."""
        if seconds > TURN_SECONDS:
            self.rows = max(1, int(rows * TURN_SECONDS / seconds)) if rows else self.rows
        elif (full or rows >= self.rows) and seconds < self._brief:
            self.rows = min(2 * self.rows, TURN_MESSAGES)

    def limit(self, most: Iterable[float]) -> None:
        """Let the next batch have at most so many rows, the least of these numbers."""
        self.rows = int(min([self.rows, *most]))

    @property
    def _brief(self) -> float:
        """A turn of fewer seconds is followed by one with more rows."""
        return TURN_SECONDS / 2 if self.rows < LARGE_BATCH else PROMPT_SECONDS
