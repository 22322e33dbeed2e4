"""Streams for the tests of injections: rows held by the test, and reading in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from driftway.producers.streams.injection import inject
from driftway.producers.streams.stream import Block, Stream


class GivenStream(Stream):
    """A stream of given arrays; its blocks are read-only views, so that writing into them raises."""

    def __init__(self, X: np.ndarray, y: np.ndarray, name: str = "held", drift_points: Sequence[int] = ()) -> None:
        self.X, self.y = np.ascontiguousarray(X, np.float64), np.asarray(y, np.float64)
        self.X.flags.writeable = self.y.flags.writeable = False
        self.name = name
        self.feature_names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
        self.rows = len(y)
        self.drift_points = tuple(drift_points)

    def blocks(self, size: int = 8192) -> Iterator[Block]:
        for start in range(0, len(self.y), size):
            yield Block(self.X[start : start + size], self.y[start : start + size])


def numbered(n: int, sign: int = 1, name: str = "held", drift_points: Sequence[int] = ()) -> GivenStream:
    """Return rows that identify themselves: x1 = +-1, +-2, ..., labels 0 1 0 1."""
    first = sign * np.arange(1.0, n + 1)
    return GivenStream(np.column_stack([first, first + 0.5]), np.arange(n) % 2, name, drift_points)


def put(stream: Stream, *texts: str, seconds: Sequence[Stream] = (), seed: int = 1) -> Stream:
    """Return `stream` with injections; each `to` opens the next of `seconds`, whatever name it gives."""
    waiting = iter(seconds)
    for place, text in enumerate(texts, 1):
        stream = inject(stream, text, place, seed, lambda _name, _seed: next(waiting))
    return stream


def read(stream: Stream, size: int = 8192) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the concepts of all rows."""
    parts = list(stream.traced(size))
    assert all(len(block.y) == len(concept) == len(block.X) > 0 for block, concept in parts)
    assert all(len(concept) == size for _, concept in parts[:-1]), "only the last block is shorter"
    assert all(block.X.flags.c_contiguous and concept.dtype == np.int64 for block, concept in parts)
    X = np.concatenate([block.X for block, _ in parts])
    return X, np.concatenate([block.y for block, _ in parts]), np.concatenate([concept for _, concept in parts])
