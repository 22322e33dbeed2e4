"""Bring the records of several models into the order of their rows, in one buffer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftway.learners.engine.jit import kernel, load8, store8
from driftway.worker.wire.columns import BytesColumn, Integers, Text
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, slices, take_buffer

WORD = 8


def interleaved(parts: Sequence[BytesColumn]) -> BytesColumn:
    """Return the first record of each column, then the second of each, and so on; the columns are released.

    Parameters
    ----------
    parts : sequence of BytesColumn
        Columns of n > 0 records each, in buffers that may be written; a record has WORD bytes or more. A single column
        is returned as it is.
    """
    if len(parts) == 1:
        return parts[0]
    buffers = [part.to_buffer() for part in parts]
    lengths = np.column_stack([sizes for _, _, sizes in buffers])
    ends = np.cumsum(lengths)
    begins = np.ascontiguousarray((ends.reshape(lengths.shape) - lengths).T)
    out = take_buffer(int(ends[-1]))
    for (text, starts, sizes), new_starts in zip(buffers, begins, strict=True):
        _scatter(text, starts, sizes, out, new_starts)
    for part in parts:
        part.release()
    return PooledColumn(out, ends, slices)


@kernel
def _scatter(text: Text, starts: Integers, lengths: Integers, out: Text, new_starts: Integers) -> None:
    """Copy records of text u1[bytes] to new_starts in out u1[bytes], and no byte more; the others are i8[n]."""
    for i in range(len(starts)):
        p, q, n = starts[i], new_starts[i], lengths[i]
        for k in range(0, n - WORD, WORD):
            store8(out, q + k, load8(text, p + k))
        store8(out, q + n - WORD, load8(text, p + n - WORD))  # overlaps the word before, unless n is a multiple
