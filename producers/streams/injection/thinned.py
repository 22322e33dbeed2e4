"""A stream with some rows left out; the others are unchanged and in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftway.producers.streams.injection.injection_kind import (
    DriftWindow,
    Injected,
    InjectionRequest,
    Words,
    words,
)
from driftway.producers.streams.injection.rows import TracedRows
from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Change, Stream, Traced

Keep = Callable[[Words, Array, int, Block], NDArray[np.bool_]]
"""(random state, memory f8[m], first row, block) -> bool[n], True for the rows to keep; in row order."""


class Thinned(Injected):
    """The rows of `stream` that `keep` keeps; their number is known only after reading.

    Parameters
    ----------
    stream : Stream
        All rows.
    request : InjectionRequest
        The request.
    window : DriftWindow
        Which rows are thinned, counted before any is left out, and whether their concept changes.
    keep : callable
        Decides which rows to keep; called for every row.
    memory : Array
        Initial state of `keep`, carried from block to block, f8[m]; copied.
    """

    def __init__(
        self, stream: Stream, request: InjectionRequest, window: DriftWindow, keep: Keep, memory: Array
    ) -> None:
        super().__init__(stream, request)
        self._window, self._keep, self._memory = window, keep, memory

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        kept = TracedRows(self._kept(size), self.n_features)
        while len((part := kept.take(size))[1]):
            yield part

    @property
    def concepts(self) -> tuple[str, ...]:
        return self._window.concepts(self._inner.concepts)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The stream's changes and the window's edges; reads up to the last one to count the kept rows."""
        found = [*self._inner.changes, *self._window.changes()]
        if not found:
            return ()
        where = self._places(sorted({row for change in found for row in change[1:4]}))
        moved = [
            Change(kind, where[at], where.get(low, where[at]), where.get(high, where[at]), drift)
            for kind, at, low, high, drift in found
            if at in where
        ]
        return tuple(sorted(moved, key=lambda change: change.at))

    def _kept(self, size: int) -> Iterator[Traced]:
        state, memory, start, n_concepts = words(self._seed), self._memory.copy(), 0, len(self._inner.concepts)
        for block, concept in self._inner.traced(size):
            stays = self._keep(state, memory, start, block)
            marked = self._window.mark(start, concept, n_concepts)
            yield Block(block.X[stays], block.y[stays]), marked[stays]
            start += len(stays)

    def _places(self, rows: list[int]) -> dict[int, int]:
        """Number of kept rows before each of the given (sorted) rows; rows past the end are omitted."""
        state, memory, start, before = words(self._seed), self._memory.copy(), 0, 0
        where: dict[int, int] = {}
        for block in self._inner.blocks():
            stays = self._keep(state, memory, start, block)
            counts = np.concatenate([[0], np.cumsum(stays)])
            for row in rows[len(where) :]:
                if row - start >= len(stays):
                    break
                where[row] = before + int(counts[row - start])
            start, before = start + len(stays), before + int(counts[-1])
            if len(where) == len(rows):
                break
        return where
