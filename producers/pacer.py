"""When rows may leave: a schedule against one monotonic clock, so that errors never add up."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from driftway.producers.load_profiles import Constant, Schedule
from driftway.producers.streams.stream import Array

SLICE_SECONDS = 0.005
"""Rows leave in slices of about 5 ms: 200 wake-ups a second at most; the client lingers as long anyway."""

SHORTEST_WAIT_SECONDS = 0.0005
"""Below this a wait is a busy loop; rounding of the schedule may ask for less."""

ROUNDING_ROWS = 1e-6
"""A wait that ends exactly on time may compute as a hair too early; without this it would wait once more."""


class Pacer:
    """A schedule of rows, held against the clock.

    Each answer is computed from the start and the clock alone. A wait that overslept, or a broker that
    stalled, therefore delays single rows and not the rate: what has become due leaves at once.

    Parameters
    ----------
    schedule : Schedule, float or None
        When rows are due; a number is a constant rate in rows a second, > 0; None = as fast as possible.
    clock : callable
        Seconds, monotonic.
    """

    def __init__(self, schedule: Schedule | float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.schedule = Constant(schedule) if isinstance(schedule, int | float) else schedule
        self._clock = clock
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
        if self.schedule is None:
            return left
        elapsed = self.elapsed()
        ready = min(self._ready(self.schedule, elapsed) - sent, left)
        if ready <= 0:
            return 0
        first = self._moment(self.schedule, sent + 1)
        if ready < self._slice(self.schedule, first, sent, left):
            return 0
        self.latest = max(self.latest, elapsed - first)
        return ready

    def wait(self, sent: int, left: int) -> float:
        """Seconds until `due` will not be 0."""
        if self.schedule is None:
            return 0.0
        first = self._moment(self.schedule, sent + 1)
        last = self._moment(self.schedule, sent + self._slice(self.schedule, first, sent, left))
        return max(last - self.elapsed(), SHORTEST_WAIT_SECONDS)

    def moments(self, sent: int, rows: int) -> Array:
        """When the next `rows` rows are due, on this clock. Shapes: returns f8[rows].

        Raises
        ------
        ValueError
            There is no schedule, so that no row is due before it leaves.
        """
        if self.schedule is None:
            raise ValueError("as fast as possible is no schedule")
        return self._began + self.schedule.moments(np.arange(sent + 1.0, sent + rows + 1.0))

    @staticmethod
    def _ready(schedule: Schedule, t: float) -> int:
        return int(schedule.rows(t) + ROUNDING_ROWS)

    @staticmethod
    def _moment(schedule: Schedule, n: int) -> float:
        return float(schedule.moments(np.array([float(n)]))[0])

    def _slice(self, schedule: Schedule, first: float, sent: int, left: int) -> int:
        """How many rows leave together: those due within `SLICE_SECONDS` of the first, at `first`."""
        return min(max(self._ready(schedule, first + SLICE_SECONDS) - sent, 1), left)
