"""Pool of buffers into which kernels write records; a buffer is reused once its records are sent.

Otherwise the allocator gets a buffer's pages from the system and returns them every time, which takes longer than
writing them (decoding to encoding, 10,000 rows a batch: 1,200 page faults and 1.5 µs a row; with the pool: 60 and 1.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from driftway.worker.wire.columns import BufferColumn, Integers, Text

MAX_KEPT = 32 * 2**20
"""Size in bytes of the largest buffer that is kept for reuse."""
KEPT = 4
"""Most free buffers kept; outputs that wait for a commit still own theirs."""
FEW_TURNS = 16
"""Least mean number of rows per run of equal lengths for which it pays to cut a run at once."""

_free: list[Text] = []


def take_buffer(size: int) -> Text:
    """Return an uninitialized u1[size or more], owned by the caller."""
    try:
        buffer = _free.pop()
    except IndexError:
        buffer = np.empty(0, np.uint8)
    return buffer if len(buffer) >= size else np.empty(size + size // 4, np.uint8)


def give_buffer(buffer: Text) -> None:
    """Return a buffer to the pool."""
    if len(_free) < KEPT and len(buffer) <= MAX_KEPT:
        _free.append(buffer)


class PooledColumn(BufferColumn):
    """Records in a buffer from `take_buffer`.

    Parameters
    ----------
    buffer : u1[bytes]
        The concatenated records.
    ends : i8[n]
        Where each record ends.
    to_list : callable
        Converts both, for n > 0, to a list of records; the fastest method depends on the records.
    """

    def __init__(self, buffer: Text, ends: Integers, to_list: Callable[[Text, Integers], list[bytes]]) -> None:
        starts = np.zeros(len(ends), np.int64)
        starts[1:] = ends[:-1]
        super().__init__(buffer, starts, ends - starts)
        self._ends, self._to_list = ends, to_list

    def to_list(self) -> list[bytes]:
        return self._to_list(self._text, self._ends) if len(self) else []

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.to_list())

    @property
    def nbytes(self) -> int:
        return int(self._ends[-1]) if len(self) else 0

    def release(self) -> None:
        buffer, self._text = self._text, np.empty(0, np.uint8)
        give_buffer(buffer)


def slices(text: Text, ends: Integers) -> list[bytes]:
    """Return the rows of a text as bytes, for any widths: text u1[bytes], ends i8[n] where each row ends."""
    written, stops = text[: int(ends[-1])].tobytes(), ends.tolist()
    return [written[start:end] for start, end in zip([0, *stops], stops, strict=False)]


def runs(text: Text, ends: Integers) -> list[bytes]:
    """Return what `slices` does, faster if many neighbouring rows have equal widths; n > 0."""
    n = len(ends)
    lengths = np.diff(ends, prepend=0)
    turns = np.flatnonzero(np.diff(lengths)) + 1
    if len(turns) > n // FEW_TURNS:
        return slices(text, ends)
    records: list[bytes] = []
    for first, last in pairwise([0, *turns.tolist(), n]):
        width = int(lengths[first])
        end = int(ends[last - 1])
        # numpy converts opaque items to `bytes` five times as fast as slicing does.
        records += text[end - (last - first) * width : end].view(f"V{width}").tolist()
    return records
