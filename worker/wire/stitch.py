"""Records that are a fixed head and a text of any length, written into one buffer in one kernel call."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from learners.jit import kernel
from worker.wire.decimals import Text
from worker.wire.scanner import LOWER_N, Integers
from worker.wire.writer import slices

FEW_TURNS = 16
"""Rows per change of length from which on it pays to cut runs of equal length at once."""


def stitch(heads: Text, text: Text, bounds: Integers) -> list[bytes]:
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
    out = np.empty(heads.size + int((bounds[1] - bounds[0]).sum()), np.uint8)
    ends = np.empty(n, np.int64)
    _stitch(heads, text, bounds, out, ends)
    lengths = np.diff(ends, prepend=0)
    turns = np.flatnonzero(np.diff(lengths)) + 1
    if len(turns) > n // FEW_TURNS:
        return slices(out, ends)
    records: list[bytes] = []
    for first, last in pairwise([0, *turns.tolist(), n]):
        width = int(lengths[first])
        end = int(ends[last - 1])
        # Opaque items become `bytes` inside numpy, five times as fast as slices do.
        records += out[end - (last - first) * width : end].view(f"V{width}").tolist()
    return records


@kernel
def _stitch(heads: Text, text: Text, bounds: Integers, out: Text, ends: Integers) -> None:
    """Shapes as in `stitch`; out u1[bytes] and ends i8[n], where each record ends in it, are written."""
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
