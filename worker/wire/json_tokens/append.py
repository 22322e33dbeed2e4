"""Write records of a fixed-size head and a text of any length into one buffer, in one kernel call."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.worker.wire.columns import Integers, Text
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, runs, take_buffer
from driftway.worker.wire.json_tokens.tokens import LOWER_N


def append_text(heads: Text, text: Text, bounds: Integers) -> PooledColumn:
    """Append each row's JSON text to its head, unless the text is null.

    Parameters
    ----------
    heads : u1[n, bytes]
        Beginning of each record; n > 0.
    text : u1[bytes]
        Buffer with the texts.
    bounds : i8[2, n]
        Bounds of each row's text; none is empty.
    """
    n = len(heads)
    out = take_buffer(heads.size + int((bounds[1] - bounds[0]).sum()))
    ends = np.empty(n, np.int64)
    write_records(heads, text, bounds, out, ends)
    return PooledColumn(out, ends, runs)


@kernel
def write_records(heads: Text, text: Text, bounds: Integers, out: Text, ends: Integers) -> None:
    """Write the records to out u1[bytes] and their ends to ends i8[n]. Other shapes as in `append_text`."""
    q = 0
    for i in range(heads.shape[0]):
        for p in range(heads.shape[1]):
            out[q + p] = heads[i, p]
        q += heads.shape[1]
        start, end = bounds[0, i], bounds[1, i]
        if text[start] != LOWER_N:  # only null begins with an n
            shift = q - start
            for p in range(start, end):
                out[p + shift] = text[p]
            q += end - start
        ends[i] = q
