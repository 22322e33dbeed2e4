"""The outputs of a batch written into one buffer: constant pieces and columns of text, interleaved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from learners.jit import kernel
from worker.decimals import Text
from worker.scanner import COMMA, Integers

Column = tuple[Text, Integers]
"""Text and the bounds i8[2, n] of each row's piece of it."""


def as_text(data: bytes) -> Text:
    """Bytes as u1[n], without a copy; read-only."""
    return np.frombuffer(data, np.uint8)


def split(listed: bytes, n: int, per_row: int = 1) -> Column:
    """Find the rows in a flat JSON list of n * per_row numbers, e.g. ``b"[1.5,2,3]"``."""
    text = as_text(listed)
    bounds = np.empty((2, n), np.int64)
    _split(text, per_row, bounds)
    return text, bounds


def choose(words: Sequence[bytes], index: Integers) -> Column:
    """The word that each row's index names."""
    ends = np.cumsum([len(word) for word in words])
    starts = ends - [len(word) for word in words]
    return as_text(b"".join(words)), np.stack([starts[index], ends[index]])


def interleave(pieces: Sequence[bytes], columns: Sequence[Column], n: int) -> list[bytes]:
    """Write n records: pieces[0], column 0, pieces[1], column 1, ..., pieces[-1].

    Parameters
    ----------
    pieces : sequence of bytes
        Constant text, one more than columns.
    columns : sequence of Column
        One piece of text per row. The first one's text is not copied: it is the whole input of a batch.
    n : int
        Number of rows.
    """
    source, first = columns[0]
    texts = [column[0] for column in columns[1:]]
    text = np.concatenate([as_text(b""), *texts])
    shifts = np.cumsum([0] + [len(piece) for piece in texts])[:-1]
    rest = [column[1] + shift for column, shift in zip(columns[1:], shifts, strict=True)]
    bounds = np.stack([first, *rest])
    constants = as_text(b"".join(pieces))
    cuts = np.cumsum([0] + [len(piece) for piece in pieces])
    out = np.empty(n * len(constants) + int((bounds[:, 1] - bounds[:, 0]).sum()), np.uint8)
    ends = np.empty(n, np.int64)
    _interleave(source, text, bounds, constants, cuts, out, ends)
    written, stops = out.tobytes(), ends.tolist()
    return [written[start:end] for start, end in zip([0, *stops], stops, strict=False)]


@kernel
def _split(text: Text, per_row: int, bounds: Integers) -> None:
    """Bounds i8[2, n] of each group of `per_row` numbers between the brackets of `text`."""
    p = 1
    for i in range(bounds.shape[1]):
        bounds[0, i] = p
        for j in range(per_row):
            while text[p] != COMMA and p < len(text) - 1:
                p += 1
            if j < per_row - 1:
                p += 1
        bounds[1, i] = p
        p += 1


@kernel
def _interleave(
    source: Text,
    text: Text,
    bounds: Integers,
    constants: Text,
    cuts: Integers,
    out: Text,
    ends: NDArray[np.int64],
) -> None:
    """Copy pieces and columns; bounds i8[columns, 2, n] (0: of `source`), cuts i8[columns + 2], ends i8[n] written."""
    columns = bounds.shape[0]
    q = 0
    for i in range(bounds.shape[2]):
        for c in range(columns + 1):
            # Shifted ranges, not two running positions: the compiler turns these loops into block copies.
            start, end = cuts[c], cuts[c + 1]
            shift = q - start
            for p in range(start, end):
                out[p + shift] = constants[p]
            q += end - start
            if c < columns:
                start, end = bounds[c, 0, i], bounds[c, 1, i]
                shift = q - start
                if c == 0:
                    for p in range(start, end):
                        out[p + shift] = source[p]
                else:
                    for p in range(start, end):
                        out[p + shift] = text[p]
                q += end - start
        ends[i] = q
