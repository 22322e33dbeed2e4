"""The truth on its way to a topic: the concept of every row beside the row, and as a message header."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from producers.streams.stream import BLOCK_ROWS, Array, Block, Stream, copy_schema

HEADER = "concept"
"""Name of the header; its value is the concept's id as decimal digits, UTF-8. `driftway streams` says what it means."""

Headers = list[tuple[str, bytes]]


class WithConcepts(Stream):
    """The rows of a stream with their concept behind the last feature: X f8[n, d + 1].

    Whoever cuts or shuffles blocks takes the concept along. Names stay the stream's d own; see `part_concepts`.

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
        for block, concept in self._stream.traced(size):
            X = np.empty((len(block.y), self.n_features + 1))
            X[:, :-1], X[:, -1] = block.X, concept
            yield Block(X, block.y)


def part_concepts(block: Block) -> tuple[Block, Array]:
    """A block of `WithConcepts` as the stream's own block (C-contiguous) and the concepts f8[n]."""
    return Block(np.ascontiguousarray(block.X[:, :-1]), block.y), block.X[:, -1]


def headers_of(concepts: Array) -> list[Headers]:
    """The headers of messages whose rows have these concepts, one list per concept and shared by its rows."""
    ids, which = np.unique(concepts, return_inverse=True)
    table = [[(HEADER, str(int(concept)).encode())] for concept in ids]
    return [table[k] for k in which.tolist()]
