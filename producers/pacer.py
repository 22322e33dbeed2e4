"""When rows may be sent: compares a schedule with a monotonic clock, so that errors do not accumulate."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from driftway.producers.load_profiles import Constant, Schedule
from driftway.producers.streams.stream import Array

SLICE_SECONDS = 0.005
"""Rows are sent in slices of about 5 ms: at most 200 wake-ups per second, and the client lingers that long anyway."""

SHORTEST_WAIT_SECONDS = 0.0005
"""A shorter wait would be a busy loop; rounding in the schedule may ask for one."""

ROUNDING_ROWS = 1e-6
"""Rounding may put a wait that ends exactly on time slightly too early; without this it would wait again."""


class Pacer:
    """Compares a schedule of rows with the clock.

    Each result depends on the start and the clock alone. A wait that overslept or a broker that stalled
    therefore delays single rows but not the rate: everything that has become due is sent at once.

    Parameters
    ----------
    schedule : Schedule, float or None
        When rows are due; a number is a constant rate in rows per second, > 0; None = as fast as possible.
    clock : callable
        Monotonic clock in seconds.
    """

    def __init__(self, schedule: Schedule | float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.schedule = Constant(schedule) if isinstance(schedule, int | float) else schedule
        self._clock = clock
        self._began = clock()
        self.latest = 0.0

    def start(self) -> None:
        """Start the schedule now."""
        self._began = self._clock()
        self.latest = 0.0

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    def due(self, sent: int, left: int) -> int:
        """How many of the next `left` rows may be sent, after `sent` rows: none, or at least a slice.

        Also updates `latest`, the longest delay of a row behind the schedule, in seconds.
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
        """Seconds until `due` will be positive."""
        if self.schedule is None:
            return 0.0
        first = self._moment(self.schedule, sent + 1)
        last = self._moment(self.schedule, sent + self._slice(self.schedule, first, sent, left))
        return max(last - self.elapsed(), SHORTEST_WAIT_SECONDS)

    def moments(self, sent: int, rows: int) -> Array:
        """Times on this clock at which the next `rows` rows are due. Shapes: returns f8[rows].

        Raises
        ------
        ValueError
            There is no schedule, so no row has a time at which it is due.
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
        """Number of rows to send together: those due within `SLICE_SECONDS` of the first, which is due at `first`."""
        return min(max(self._ready(schedule, first + SLICE_SECONDS) - sent, 1), left)
