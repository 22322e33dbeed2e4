"""The truth on its way to a topic: the concept of every row and where it came in, as message headers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Stream, copy_schema

CONCEPT = "concept"
"""Header: id of the row's concept, which `driftway streams` explains."""

CHANGED = "changed"
"""Header: the stream's last drift point at or before the row, counted in rows of the stream; 0 = none so far."""

Headers = list[tuple[str, bytes]]


class WithGroundTruth(Stream):
    """The rows of a stream with their truth behind the last feature, concept and last drift point: X f8[n, d + 2].

    Whoever cuts or shuffles blocks takes the truth along. Names stay the stream's d own; see `split_truth`. The drift
    points are asked for before the first row, which may read the stream through.

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
    """A block of `WithGroundTruth` as the stream's own block (C-contiguous) and the truth f8[n, 2]."""
    return Block(np.ascontiguousarray(block.X[:, :-2]), block.y), block.X[:, -2:]


def headers_of(truth: Array) -> list[Headers]:
    """The headers of messages whose rows have this truth f8[m, 2]; rows of equal truth share a list."""
    pairs = [(int(concept), int(changed)) for concept, changed in truth.tolist()]
    made: dict[tuple[int, int], Headers] = {
        pair: [(CONCEPT, b"%d" % pair[0]), (CHANGED, b"%d" % pair[1])] for pair in {*pairs}
    }
    return [made[pair] for pair in pairs]
