"""When rows may leave: a schedule against one monotonic clock, so that errors never add up."""

from __future__ import annotations

import time
from collections.abc import Callable

SLICE_SECONDS = 0.005
"""Rows leave in slices of about 5 ms: 200 wake-ups a second at most; the client lingers as long anyway."""

SHORTEST_WAIT_SECONDS = 0.0005
"""Below this a wait is a busy loop; rounding of the schedule may ask for less."""

ROUNDING_ROWS = 1e-6
"""A wait that ends exactly on time may compute as a hair too early; without this it would wait once more."""


class Pace:
    """A schedule of `rate` rows a second: row i, counted from 0, is due (i + 1) / rate after the start.

    Each answer is computed from the start and the clock alone. A wait that overslept, or a broker that
    stalled, therefore delays single rows and not the rate: what has become due leaves at once.

    Parameters
    ----------
    rate : float or None
        Rows a second, > 0; None = as fast as possible.
    clock : callable
        Seconds, monotonic.
    """

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._slice = 1 if rate is None else max(1, round(rate * SLICE_SECONDS))
        self._began = clock()
        self.latest = 0.0

    def start(self) -> None:
        """Begin the schedule now."""
        self._began = self._clock()
        self.latest = 0.0

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    def due(self, sent: int, left: int) -> int:
        """How many of the next `left` rows may leave, after `sent` have left: none, or at least a slice.

        Also keeps in `latest` how many seconds the most delayed row was behind its schedule.
        """
        if self.rate is None:
            return left
        elapsed = self.elapsed()
        ready = min(int(elapsed * self.rate + ROUNDING_ROWS) - sent, left)
        if ready < min(self._slice, left):
            return 0
        self.latest = max(self.latest, elapsed - (sent + 1) / self.rate)
        return ready

    def wait(self, sent: int, left: int) -> float:
        """Seconds until `due` will not be 0."""
        if self.rate is None:
            return 0.0
        moment = (sent + min(self._slice, left)) / self.rate
        return max(moment - self.elapsed(), SHORTEST_WAIT_SECONDS)
