"""Delayed labels: sent later than their rows, in messages of their own after later rows."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from driftway.learners.numeric.elementary.logarithm import log
from driftway.producers.messages import Messages
from driftway.producers.row_random import DELAYS, RowRandom
from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Stream, copy_schema, find_column
from driftway.worker.errors import UsageFailure
from driftway.worker.wire import codec

GEOMETRIC, COLUMN = "geometric", "column"
MAX_ROWS = 10**12
"""Largest delay or mean; above it, the logarithm of a geometric delay's parameter would lose its last digits."""


class DelayedLabels:
    """Holds each label back until a number of later rows have been sent.

    A label's message has its row's id and key, and goes to its row's partition.

    Parameters
    ----------
    text : str
        The delay in rows: a number, ``geometric:MEAN`` to draw one for each row, or ``column:NAME`` to read it from a
        column, which `DelayColumn` provides.
    seed : int
        Seed of the draws, 0 <= seed < 2^64.
    labels : tuple of str or None
        Class names.

    Raises
    ------
    UsageFailure
        The text is none of these.

    Attributes
    ----------
    column : str or None
        The NAME of ``column:NAME``.
    """

    def __init__(self, text: str, seed: int, labels: tuple[str, ...] | None) -> None:
        word, colon, rest = text.partition(":")
        self.column = rest if word == COLUMN and rest else None
        number = rest if word == GEOMETRIC else text
        if self.column is None and not (number.isdecimal() and (1 if colon else 0) <= int(number) <= MAX_ROWS):
            raise UsageFailure(
                f"--label-delay {text!r}: write a number of rows, {GEOMETRIC}:MEAN or {COLUMN}:NAME; at most 10^12 rows"
            )
        self._rows = 0 if self.column is not None else int(number)
        self._draws = RowRandom(seed, DELAYS, 1) if word == GEOMETRIC else None
        self._labels = labels
        self._due: list[tuple[int, int, float, bytes | None]] = []
        """Heap of (row after which it is due, its own row, label, key)."""

    @property
    def waiting(self) -> int:
        """Number of labels held back."""
        return len(self._due)

    def split(self, block: Block) -> tuple[Block, Array | None]:
        """The block to send, and each row's delay if a column holds it. Shapes: returns Block, f8[n]."""
        return (block, None) if self.column is None else split_delays(block)

    def interleave(self, messages: Messages, y: NDArray[np.float64], given: Array | None = None) -> Messages:
        """Add messages of the labels that are due to the rows' messages, one per row and without labels.

        Shapes: y, given f8[n].

        Raises
        ------
        UsageFailure
            The given delay of a row with a label is not a number of rows.
        """
        delays = (
            self._delays(messages.first, messages.rows) if given is None else self._checked(messages.first, y, given)
        )
        values: list[bytes | None] = []
        keys: list[bytes] | None = None if messages.keys is None else []
        positions, homes, late = list[int](), list[int](), list[bool]()

        def put(value: bytes | None, key: bytes | None, position: int, home: int, is_label: bool) -> None:
            values.append(value)
            positions.append(position)
            homes.append(home)
            late.append(is_label)
            if keys is not None:
                keys.append(key or b"")

        for i, value in enumerate(messages.values):
            row = messages.first + i
            key = None if messages.keys is None else messages.keys[i]
            put(value, key, row, row, False)
            if not math.isnan(y[i]):
                heapq.heappush(self._due, (row + int(delays[i]), row, float(y[i]), key))
            while self._due and self._due[0][0] <= row:
                _, home, label, its_key = heapq.heappop(self._due)
                put(codec.write_label(home, label, self._labels), its_key, row, home, True)
        indices = np.array(positions, np.int64)
        spread, which = np.array(homes, np.int64), np.array(late, np.bool_)
        return Messages(
            messages.first, messages.rows, values, keys, None, indices, partition_rows=spread, is_label=which
        )

    def _delays(self, first: int, rows: int) -> NDArray[np.int64]:
        if self._draws is None:
            return np.full(rows, self._rows, np.int64)
        draws = self._draws.uniforms(first, rows)[:, 0].tolist()
        log_survival = log(self._rows / (self._rows + 1.0))
        return np.array([math.floor(log(1.0 - one) / log_survival) for one in draws], np.int64)

    def _checked(self, first: int, y: Array, given: Array) -> NDArray[np.int64]:
        """Delays from a column; 0 for rows without a label, whatever the column holds."""
        delays = np.where(np.isnan(y), 0.0, given)
        usable = (delays >= 0.0) & (delays <= MAX_ROWS) & (delays == np.floor(delays))
        if not usable.all():
            row = int(np.flatnonzero(~usable)[0])
            raise UsageFailure(
                f"row {first + row} has no usable delay in {self.column!r}, a whole number of rows: {delays[row]:g}"
            )
        return delays.astype(np.int64)


class DelayColumn(Stream):
    """The rows of a stream with its column of label delays moved to the end: X f8[n, d] for d - 1 feature names.

    Blocks can be cut or shuffled without losing the delays; see `split_delays`.

    Parameters
    ----------
    stream : Stream
        The rows.
    column : str
        A feature's name.

    Raises
    ------
    UsageFailure
        There is no such column, it is the label, or it is the only one beside the label.
    """

    def __init__(self, stream: Stream, column: str) -> None:
        at = find_column(stream, column, "--label-delay")
        if stream.n_features in (at, 1):  # the label itself, or the only feature
            raise UsageFailure(
                f"{stream.name}: --label-delay {COLUMN}:{column} needs a column other than the label, "
                "and others as features"
            )
        self._stream = stream
        self._order = [i for i in range(stream.n_features) if i != at] + [at]
        copy_schema(self, stream)
        self.feature_names = tuple(stream.feature_names[i] for i in self._order[:-1])
        self.rows = stream.rows

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        for block in self._stream.blocks(size):
            yield Block(np.take(block.X, self._order, axis=1), block.y)


def split_delays(block: Block) -> tuple[Block, Array]:
    """A block of `DelayColumn` without the delays (C-contiguous), and the delays f8[n]."""
    return Block(np.ascontiguousarray(block.X[:, :-1]), block.y), block.X[:, -1]
