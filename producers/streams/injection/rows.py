"""Reading a stream in portions of any size, for streams that combine two streams or leave rows out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from driftway.producers.streams.stream import Block, Concepts, Traced


class TracedRows:
    """The rows of an iterator over traced blocks, as many at a time as requested.

    Parameters
    ----------
    chunks : iterator of (Block, concepts)
        Blocks of any length; read no further than needed.
    n_features : int
        Width of X, for the empty portion.
    """

    def __init__(self, chunks: Iterator[Traced], n_features: int) -> None:
        self._chunks = chunks
        self._width = n_features
        self._held: Traced | None = None

    def take(self, n: int) -> Traced:
        """The next `n` rows, fewer only at the end. A portion may share memory with its chunk."""
        parts: list[Traced] = []
        while n > 0:
            if self._held is None:
                self._held = next(self._chunks, None)
                if self._held is None:
                    break
            block, concept = self._held
            parts.append(portion(self._held, 0, n))
            self._held = portion(self._held, n, len(concept)) if n < len(concept) else None
            n -= min(n, len(block.y))
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Block(np.empty((0, self._width)), np.empty(0)), np.empty(0, np.int64)
        concepts: Concepts = np.concatenate([concept for _, concept in parts])
        X = np.concatenate([block.X for block, _ in parts])
        return Block(X, np.concatenate([block.y for block, _ in parts])), concepts


def portion(traced: Traced, low: int, high: int) -> Traced:
    """Rows low <= i < high of a traced block, as views."""
    block, concept = traced
    return Block(block.X[low:high], block.y[low:high]), concept[low:high]
