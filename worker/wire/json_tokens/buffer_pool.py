"""Records that kernels have written into one buffer, which is written anew once they are sent.

The allocator would take a buffer's pages from the system and give them back every time, which takes longer than writing
them (decoding to encoding, 10,000 rows a batch: 1,200 page faults and 1.5 µs a row; kept: 60 and 1.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from driftway.worker.wire.columns import BufferColumn, Integers, Text

MOST_KEPT = 32 * 2**20
"""Bytes of the largest buffer that is kept for another batch."""
KEPT = 4
"""Buffers that wait to be written; outputs held back by a commit have their own."""
FEW_TURNS = 16
"""Rows per change of length from which on it pays to cut runs of equal length at once."""

_free: list[Text] = []


def take_buffer(size: int) -> Text:
    """A u1[size or more] that holds anything, and is the caller's."""
    try:
        buffer = _free.pop()
    except IndexError:
        buffer = np.empty(0, np.uint8)
    return buffer if len(buffer) >= size else np.empty(size + size // 4, np.uint8)


def give_buffer(buffer: Text) -> None:
    """Let another batch write it."""
    if len(_free) < KEPT and len(buffer) <= MOST_KEPT:
        _free.append(buffer)


class PooledColumn(BufferColumn):
    """Records in a buffer from `take_buffer`.

    Parameters
    ----------
    buffer : u1[bytes]
        The records, one after the other.
    ends : i8[n]
        Where each record ends.
    to_list : callable
        Given both, with n > 0, the records as objects: which way is the fastest depends on what they look like.
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
    """The rows of a text as bytes, whatever their widths: text u1[bytes], ends i8[n] where each row ends."""
    written, stops = text[: int(ends[-1])].tobytes(), ends.tolist()
    return [written[start:end] for start, end in zip([0, *stops], stops, strict=False)]


def runs(text: Text, ends: Integers) -> list[bytes]:
    """As `slices`, faster where many neighbours have the same width: n > 0."""
    n = len(ends)
    lengths = np.diff(ends, prepend=0)
    turns = np.flatnonzero(np.diff(lengths)) + 1
    if len(turns) > n // FEW_TURNS:
        return slices(text, ends)
    records: list[bytes] = []
    for first, last in pairwise([0, *turns.tolist(), n]):
        width = int(lengths[first])
        end = int(ends[last - 1])
        # Opaque items become `bytes` inside numpy, five times as fast as slices do.
        records += text[end - (last - first) * width : end].view(f"V{width}").tolist()
    return records
