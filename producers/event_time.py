"""Event-time replay: rows are due at the times in one of their columns, optionally sped up or slowed down."""

from __future__ import annotations

import math

import numpy as np

from driftway.producers.load_profiles import Schedule
from driftway.producers.streams.stream import Array, Block, Stream, column_of, find_column
from driftway.worker.errors import UsageFailure

BLOCK = 1024
"""Rows encoded at once, about 1 ms of work: how many are due together is unknown until they are read."""

UNITS = {"s": 1000.0, "ms": 1.0, "us": 1e-3, "ns": 1e-6, "days": 86_400_000.0}
"""Unit of the column -> milliseconds."""

LATEST_MS = 2.0**53
"""A float above this no longer resolves single milliseconds."""


class EventTime(Schedule):
    """A schedule read from the rows, block by block.

    Row i is due (time of row i - time of the first row sent) / speed seconds after the start. A row whose time is
    earlier than that of a preceding row is due right after it: rows keep their order and their own times.

    Parameters
    ----------
    column : str
        A feature's name, or the label's.
    speed : float
        > 0; 60 replays an hour in a minute.
    unit : str
        Unit of the column, counted from any origin: a key of UNITS.
    """

    def __init__(self, column: str, speed: float = 1.0, unit: str = "ms") -> None:
        self.column = column
        self.speed = speed
        self._scale = UNITS[unit]
        self._at = -1
        self._before = 0
        self._moments: Array = np.zeros(0)
        self._zero = math.nan

    @property
    def block_rows(self) -> int:
        return BLOCK

    def bind(self, stream: Stream) -> None:
        """Find the column in the stream to be replayed.

        Raises
        ------
        UsageFailure
            It has no such column.
        """
        self._at = find_column(stream, self.column, "--time-column")

    def read_times(self, sent: int, position: int, block: Block) -> list[int]:
        """Read when a block's rows are due, after `sent` rows; return their times in ms.

        Raises
        ------
        UsageFailure
            A row's time is missing, negative or too large; `position` gives its row number.
        """
        times = column_of(block, self._at) * self._scale
        usable = (times >= 0.0) & (times < LATEST_MS)
        if not usable.all():
            row = int(np.flatnonzero(~usable)[0])
            raise UsageFailure(f"row {position + row} has no usable time in {self.column!r}: {times[row]:g} ms")
        if math.isnan(self._zero):
            self._zero = float(times[0])
        earliest = self._moments[-1:]
        moments = np.maximum((times - self._zero) / (1000.0 * self.speed), 0.0)
        self._moments = np.maximum.accumulate(np.concatenate([earliest, moments]))[len(earliest) :]
        self._before = sent
        rounded: list[int] = np.rint(times).astype(np.int64).tolist()
        return rounded

    def rows(self, t: float) -> float:
        """Rows due by `t`, in this block and those before it."""
        return float(self._before + np.searchsorted(self._moments, t, "right"))

    def moments(self, n: Array) -> Array:
        """As `Schedule.moments`, for rows of this block."""
        return self._moments[n.astype(np.int64) - self._before - 1]
