"""The rows of a stream or file that a batch procedure learns from: labelled, finite, and counted.

Both kinds of source, `StreamRows` here and `driftway.worker.evaluation.training.topic.TopicRows`, yield blocks of
usable rows and count the rows that they leave out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftway.worker.errors import Failure, UsageFailure, plural
from driftway.worker.evaluation.rows import MissingValueFillers, RowCounter, RowCounts, holds_events
from driftway.worker.settings import ModelSettings
from driftway.worker.wire.events import Target

Array = NDArray[np.float64]
Blocks = Iterator[tuple[Array, Array]]


class RowSource(Protocol):
    """A bounded source of labelled rows that yields the same rows each time it is read.

    `blocks` yields X f8[n, d], finite, and y f8[n], class index 0 or 1.
    """

    target: Target

    @property
    def counts(self) -> RowCounts:
        """Counts of the rows read; complete once `blocks` is exhausted."""

    @property
    def name(self) -> str:
        """Name of the source in messages."""

    @property
    def reading(self) -> ModelSettings | None:
        """Settings with the event schema and the policy for missing values, if there is either."""

    @property
    def filling(self) -> bytes:
        """State of the fill-in of missing values; complete once `blocks` is exhausted."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features in column order, if the worker's events will name their features."""

    def blocks(self) -> Blocks:
        """Read the rows, starting at the first."""

    def origin(self) -> dict[str, Any]:
        """Origin of the rows, for the model file; complete once `blocks` is exhausted."""


class StreamRows:
    """Rows of a stream.

    Parameters
    ----------
    stream : Stream
        As `open_stream` gives it.
    target : Target
        Two classes; labels that are names have been mapped to indices by the stream.
    opening : dict
        The arguments that opened the stream, name included; stored in the model file.
    skip : int
        Number of rows to skip at the beginning.
    limit : int or None
        Maximum number of rows to read after that; None: all.
    named : bool
        Whether to order features by name, as for events that name their features.
    reading : ModelSettings or None
        Settings with the schema that the stream is read by and the policy for missing values; None: there is neither.
    """

    def __init__(
        self,
        stream: Any,
        target: Target,
        opening: dict[str, Any],
        skip: int = 0,
        limit: int | None = None,
        named: bool = False,
        reading: ModelSettings | None = None,
    ) -> None:
        self.target = target
        self.reading = reading
        self.begun = b""
        """State of the fill-in of missing values before the first row."""
        self._fillings: MissingValueFillers | None = None
        self._stream = stream
        self._opening = opening
        self._skip, self._limit = skip, limit
        self._counter = RowCounter(stream, reading, row=skip)
        self._order = np.argsort(np.array(stream.feature_names)) if named else None
        self._read = 0

    @property
    def counts(self) -> RowCounts:
        """Counts of the rows read so far."""
        return self._counter.total

    @property
    def name(self) -> str:
        """Name of the stream."""
        return str(self._stream.name)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Feature names: the schema's columns, or sorted names if columns are ordered by name, else None."""
        if self.reading is not None and self.reading.events is not None:
            return self.reading.events.columns
        return None if self._order is None else tuple(sorted(self._stream.feature_names))

    @property
    def filling(self) -> bytes:
        """State of the fill-in of missing values."""
        return b"" if self._fillings is None else self._fillings.state

    @property
    def length(self) -> int | None:
        """Number of rows to read, if known."""
        known: int | None = self._stream.rows
        left = None if known is None else max(0, known - self._skip)
        return min((n for n in (left, self._limit) if n is not None), default=None)

    def blocks(self) -> Blocks:
        """Read the rows, starting at the first.

        Raises
        ------
        UsageFailure
            A label is neither 0 nor 1.
        Failure
            The stream ends before the first row to read.
        """
        self._counter = RowCounter(self._stream, self.reading, row=self._skip)
        if self.reading is not None:
            events = holds_events(self._stream)
            self._fillings = MissingValueFillers(self.reading, self._stream.n_features, of_events=events)
        if self._fillings is not None:
            self._fillings.begin(self.begun)
        row, end = 0, None if self._limit is None else self._skip + self._limit
        for block in self._stream.blocks():
            inside = slice(max(0, self._skip - row), None if end is None else end - row)
            X, y = block.X[inside], block.y[inside]
            if len(y):
                yield self._usable(X, y, row + max(0, self._skip - row))
            row += len(block.y)
            if end is not None and row >= end:
                break
        self._read = max(0, (row if end is None else min(row, end)) - self._skip)
        if row <= self._skip:
            raise Failure(f"{self.name} has {plural(row, 'row')}: none is left after the first {self._skip}")

    def _usable(self, X: Array, y: Array, first: int) -> tuple[Array, Array]:
        """Select rows with a label and finite features; `first` is the number of the first row, for messages."""
        wrong = ~(np.isnan(y) | (y == 0.0) | (y == 1.0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise UsageFailure(
                f"label {y[at]:g} in row {first + at} of {self.name} is neither 0 nor 1: training takes two classes; "
                "--labels A,B names them as written in the data"
            )
        keep = self._counter.count(X, y) & ~np.isnan(y)
        X = X if self._order is None else X[:, self._order]
        X = X if self._fillings is None else self._fillings.fill(X)
        return np.ascontiguousarray(X[keep]), y[keep]

    def origin(self) -> dict[str, Any]:
        """The arguments that opened the stream, and the range of rows read."""
        return {**self._opening, "from": self._skip, "to": self._skip + self._read}


def require_rows(source: RowSource) -> None:
    """Refuse a source without usable rows.

    Raises
    ------
    Failure
        There is none; the message says what was left out.
    """
    if not source.counts.labelled:
        raise Failure(source.counts.sentence(source.name))
