"""Ground truth in message headers: the concept of every row, and the last drift point so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Stream, copy_schema

CONCEPT = "concept"
"""Header: id of the row's concept, as listed by `driftway streams`."""

CHANGED = "changed"
"""Header: the stream's last drift point at or before the row, counted in rows of the stream; 0 = none so far."""

Headers = list[tuple[str, bytes]]


class WithGroundTruth(Stream):
    """The rows of a stream with concept and last drift point appended as columns: X f8[n, d + 2].

    Blocks can be cut or shuffled without losing the truth. There are still only d feature names; see `split_truth`.
    The drift points are determined before the first row, which may read the whole stream.

    Parameters
    ----------
    stream : Stream
        The rows.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        copy_schema(self, stream)
        self.rows = stream.rows

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        points = np.array([0, *self._stream.drift_points])
        start = 0
        for block, concept in self._stream.traced(size):
            X = np.empty((len(block.y), self.n_features + 2))
            X[:, :-2], X[:, -2] = block.X, concept
            rows = np.arange(start, start + len(block.y))
            X[:, -1] = points[np.searchsorted(points, rows, "right") - 1]
            start += len(block.y)
            yield Block(X, block.y)


def split_truth(block: Block) -> tuple[Block, Array]:
    """Split a block of `WithGroundTruth` into the stream's own block (C-contiguous) and the truth f8[n, 2]."""
    return Block(np.ascontiguousarray(block.X[:, :-2]), block.y), block.X[:, -2:]


def headers_of(truth: Array) -> list[Headers]:
    """The headers of messages whose rows have this truth f8[m, 2]; rows with equal truth share a list."""
    pairs = [(int(concept), int(changed)) for concept, changed in truth.tolist()]
    made: dict[tuple[int, int], Headers] = {
        pair: [(CONCEPT, b"%d" % pair[0]), (CHANGED, b"%d" % pair[1])] for pair in {*pairs}
    }
    return [made[pair] for pair in pairs]
