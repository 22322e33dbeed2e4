"""Latencies in bounded memory: a histogram whose bins grow by one percent."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from driftway.producers.streams.stream import Array

SMALLEST_SECONDS = 1e-6
LARGEST_SECONDS = 1e6
GROWTH = 1.01
"""A percentile is at most this factor above the exact one."""

BINS = math.ceil(math.log(LARGEST_SECONDS / SMALLEST_SECONDS) / math.log(GROWTH)) + 1
PENDING = 4096
"""Latencies that are collected in a list before they are added to the histogram together."""

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


class Latencies:
    """Histogram of the times from when a message was due until the broker acknowledged it.

    Counting from when it was due, not from when it was sent, avoids coordinated omission: the time in which a message
    could not be sent because the broker, or this process, had stalled is included.
    """

    def __init__(self) -> None:
        self.count = 0
        self.largest = 0.0
        self._bins = np.zeros(BINS, np.int64)
        self._pending: list[float] = []
        self.note: Callable[[float], None] = self._pending.append
        """Record one latency in seconds; called per message, so it is the list's own method. `tidy` bounds the list."""

    def tidy(self, limit: int = PENDING) -> None:
        """Add the recorded latencies to the histogram, if there are more than `limit`."""
        if len(self._pending) > limit:
            self.observe(np.array(self._pending))
            self._pending.clear()

    def observe(self, seconds: Array) -> None:
        """Count latencies. Shapes: seconds f8[n]."""
        if not len(seconds):
            return
        bounded = np.clip(seconds, SMALLEST_SECONDS, LARGEST_SECONDS)
        bins = np.ceil(np.log(bounded / SMALLEST_SECONDS) / math.log(GROWTH)).astype(np.int64)
        self._bins += np.bincount(np.minimum(bins, BINS - 1), minlength=BINS)
        self.count += len(seconds)
        self.largest = max(self.largest, float(seconds.max()))

    def percentile(self, part: float) -> float:
        """Smallest latency in seconds that a share `part` of all does not exceed, at most 1 % too large; or NaN."""
        self.tidy(0)
        if self.count == 0:
            return math.nan
        rank = max(1, math.ceil(part * self.count - 1e-9))
        k = int(np.searchsorted(np.cumsum(self._bins), rank))
        return min(SMALLEST_SECONDS * GROWTH**k, self.largest)

    def as_milliseconds(self) -> dict[str, float | int | None]:
        """The percentiles, the largest and the count, for reports; None if nothing was acknowledged."""
        self.tidy(0)
        if self.count == 0:
            return {**dict.fromkeys(PERCENTILES), "largest": None, "messages": 0}
        found: dict[str, float | int | None] = {name: 1e3 * self.percentile(part) for name, part in PERCENTILES.items()}
        return {**found, "largest": 1e3 * self.largest, "messages": self.count}
