"""Messages made from rows, stored as columns and sliced by rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.stream import Array, Block, Stream, column_of, find_column
from driftway.worker.errors import UsageFailure
from driftway.worker.wire import codec, packed
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.events import Reject
from driftway.worker.wire.schema.paths import ABSENT, ROW, Path, look_up

LARGEST_PLAIN = 1e15
"""Whole numbers below this are written in keys without a fraction; above it the digits would feign precision."""

Encoded = tuple[Sequence[bytes | None], list[bytes] | None]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Encoding:
    """How a row is serialized: `form` json or packed, `named` features, the `key` column, class names `labels`."""

    form: str = codec.JSON
    named: bool = False
    key: str | None = None
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Messages:
    """The messages of `rows` consecutive rows, as columns of equal length.

    Parameters
    ----------
    first : int
        Position of the first row.
    rows : int
        Number of rows.
    values : BytesColumn or list of bytes
        None is a null value.
    keys : list of bytes or None
        None: no keys.
    times : list of int or None
        Timestamps in ms; None: the time of sending.
    positions : i8[m] or None
        Position of each message's row, ascending; None: one message per row. A malformed message precedes a row and
        shares its position, and so its partition and key; a delayed label follows a row.
    truth : f8[rows, 2] or None
        Truth of each row for the headers, as in `WithGroundTruth`; None: no headers.
    partition_rows : i8[m] or None
        Position of the row whose partition each message goes to; None: its own row.
    is_label : b1[m] or None
        Which messages are delayed labels; None: none.
    """

    first: int
    rows: int
    values: Sequence[bytes | None]
    keys: Sequence[bytes] | None = None
    times: Sequence[int] | None = None
    positions: Indices | None = None
    truth: Array | None = None
    partition_rows: Indices | None = None
    is_label: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def of_rows(self, low: int, high: int) -> Messages:
        """The messages of rows low <= i < high, counted from 0 within this object."""
        part = slice(low, high)
        positions = self.positions
        if positions is not None:
            start, end = np.searchsorted(positions, [self.first + low, self.first + high]).tolist()
            part = slice(start, end)
            positions = positions[part]
        keys, times = (None if column is None else column[part] for column in (self.keys, self.times))
        truth = None if self.truth is None else self.truth[low:high]
        partition_rows = None if self.partition_rows is None else self.partition_rows[part]
        is_label = None if self.is_label is None else self.is_label[part]
        values = self.values[part]
        return Messages(self.first + low, high - low, values, keys, times, positions, truth, partition_rows, is_label)  # type: ignore[arg-type]

    def select(self, indices: Indices) -> Messages:
        """The messages at `indices`, i8[k], of the same rows."""
        values = [self.values[index] for index in indices.tolist()]
        keys, times = (
            None if column is None else [column[index] for index in indices.tolist()]
            for column in (self.keys, self.times)
        )
        positions, partition_rows = self.first + self.row_indices()[indices], self.effective_partition_rows()[indices]
        is_label = None if self.is_label is None else self.is_label[indices]
        return Messages(self.first, self.rows, values, keys, times, positions, self.truth, partition_rows, is_label)

    def row_indices(self) -> Indices:
        """Each message's row, counted from 0 within this object. Shapes: returns i8[m]."""
        return np.arange(len(self)) if self.positions is None else self.positions - self.first

    def effective_partition_rows(self) -> Indices:
        """Position of the row that decides each message's partition. Shapes: returns i8[m]."""
        return self.first + self.row_indices() if self.partition_rows is None else self.partition_rows

    def by_partition(self, partitions: int) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield (partition, indices of its messages), with row i in partition i mod `partitions`."""
        for partition in range(partitions):
            indices: Sequence[int]
            if self.positions is None:
                indices = range((partition - self.first) % partitions, len(self), partitions)
            else:
                indices = np.flatnonzero(self.effective_partition_rows() % partitions == partition).tolist()
            if indices:
                yield partition, indices

    def max_value_bytes(self) -> int:
        """Length of the longest value in bytes."""
        if isinstance(self.values, BytesColumn):
            return int(self.values.lengths().max(initial=0))
        return max(map(len, self._present()), default=0)

    def value_bytes(self) -> int:
        """Total length of all values in bytes."""
        if isinstance(self.values, BytesColumn):
            return self.values.nbytes
        return sum(map(len, self._present()))

    def _present(self) -> Iterable[bytes]:
        """The values that are not null; only a malformed message can have a null value."""
        return cast(Sequence[bytes], self.values) if self.positions is None else filter(None, self.values)


def encoder(stream: Stream, encoding: Encoding, columns: bool = False) -> Callable[[int, Block], Encoded]:
    """Return a function (first id, block) -> (values, keys); the values are a `BytesColumn` if `columns`.

    Raises
    ------
    UsageFailure
        An unknown format, `named` with the packed format, which has no names, or an unknown key column.
    """
    if encoding.named and encoding.form == codec.PACKED:
        raise UsageFailure("--named needs --format json: packed messages carry no names")
    if encoding.form not in codec.FORMATS:
        raise UsageFailure(f"format must be one of {', '.join(codec.FORMATS)}, got {encoding.form!r}")
    names = stream.feature_names if encoding.named else None
    at = None if encoding.key is None else find_column(stream, encoding.key, "--key")

    def encode(first: int, block: Block) -> Encoded:
        values: Sequence[bytes | None]
        if encoding.form == codec.PACKED:
            write = packed.write_events if columns else packed.encode_events
            values = write(block.X, block.y)
        else:
            values = codec.write_events(block.X, block.y, first, names, encoding.labels)
            values = values if columns else list(values)
        if at is None:
            return values, None
        return values, [key_text(value) for value in column_of(block, at).tolist()]

    return encode


def raw_encoder(file: EventFile, key: str | None, columns: bool = False) -> Callable[[BytesColumn], Encoded]:
    """Return a function events -> (values, keys) for a file; the values are a `BytesColumn` if `columns`.

    Raises
    ------
    UsageFailure
        `key` is not a path into an event, or the file has no such column.
    """
    path = None if key is None else Path.parse(key)
    if path is not None and (path.source != ROW or (file.columns is not None and path.steps[0] not in file.columns)):
        raise UsageFailure(f"{file.name} has no field {key} for --key")

    def encode(events: BytesColumn) -> Encoded:
        values = events if columns else list(events)
        return values, None if path is None else [field_text(value, path) for value in events]

    return encode


def field_text(event: bytes | None, path: Path) -> bytes:
    """The value at a path of an event as a key: text unchanged, ``null`` if there is none."""
    try:
        _, found = codec.parse_event(event or b"", lambda row: look_up(row, path.steps))
    except Reject:  # not JSON
        return b"null"
    if found is ABSENT:
        return b"null"
    if isinstance(found, str):
        return found.encode()
    return (
        key_text(float(found)) if isinstance(found, float) and abs(found) < LARGEST_PLAIN else codec.write_json(found)
    )


def with_timestamps(values: Sequence[bytes | None], times: Sequence[int]) -> list[bytes]:
    """Add the timestamp `t`, in ms, to JSON events."""
    return [b'%s,"t":%d}' % ((value or b"")[:-1], t) for value, t in zip(values, times, strict=True)]


def key_text(value: float) -> bytes:
    """A column's value as a key: ``3``, ``0.25``, or ``null`` if it is missing."""
    if math.isnan(value):
        return b"null"
    if value.is_integer() and abs(value) < LARGEST_PLAIN:
        return str(int(value)).encode()
    return repr(value).encode()


def insert_items(column: Sequence[Any], indices: Sequence[int], items: Sequence[Any]) -> list[Any]:
    """Return `column` with items[k] inserted before index indices[k]; `indices` ascend."""
    out: list[Any] = []
    at = 0
    for index, item in zip(indices, items, strict=True):
        out += column[at:index]
        out.append(item)
        at = index
    out += column[at:]
    return out
