"""Records that are a fixed head and a text of any length, written into one buffer in one kernel call."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.worker.wire.columns import Integers, Text
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, runs, take_buffer
from driftway.worker.wire.json_tokens.tokens import LOWER_N


def append_text(heads: Text, text: Text, bounds: Integers) -> PooledColumn:
    """Each row's head followed by its JSON text, which is left out where it is null.

    Parameters
    ----------
    heads : u1[n, bytes]
        What each record begins with; n > 0.
    text : u1[bytes]
        Where the texts lie.
    bounds : i8[2, n]
        Bounds of each row's text; none is empty.
    """
    n = len(heads)
    out = take_buffer(heads.size + int((bounds[1] - bounds[0]).sum()))
    ends = np.empty(n, np.int64)
    _append_text(heads, text, bounds, out, ends)
    return PooledColumn(out, ends, runs)


@kernel
def _append_text(heads: Text, text: Text, bounds: Integers, out: Text, ends: Integers) -> None:
    """Shapes as in `append_text`; out u1[bytes] and ends i8[n], where each record ends in it, are written."""
    q = 0
    for i in range(heads.shape[0]):
        for p in range(heads.shape[1]):
            out[q + p] = heads[i, p]
        q += heads.shape[1]
        start, end = bounds[0, i], bounds[1, i]
        if text[start] != LOWER_N:  # the only JSON that begins with an n is null
            shift = q - start
            for p in range(start, end):
                out[p + shift] = text[p]
            q += end - start
        ends[i] = q
