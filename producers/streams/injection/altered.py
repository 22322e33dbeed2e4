"""A stream whose rows are changed in place, with the same number and order of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from driftway.producers.streams.injection.injection_kind import (
    DriftWindow,
    Injected,
    InjectionRequest,
    Words,
    words,
)
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Change, Stream, Traced

Alter = Callable[[Words, int, Block], Block]
"""(random state, first row, block) -> the changed block; draws in row order, and does not modify its arguments."""


class Altered(Injected):
    """The rows of `stream`, changed inside a window.

    Parameters
    ----------
    stream : Stream
        The original rows.
    request : InjectionRequest
        The request.
    window : DriftWindow
        Which rows are changed, and whether their concept is.
    alter : callable
        Changes a block; called for every row, so that draws do not depend on the window.
    """

    def __init__(self, stream: Stream, request: InjectionRequest, window: DriftWindow, alter: Alter) -> None:
        super().__init__(stream, request)
        self._window, self._alter, self.rows = window, alter, stream.rows

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        state, start, n_concepts = words(self._seed), 0, len(self._inner.concepts)
        for block, concept in self._inner.traced(size):
            yield self._alter(state, start, block), self._window.mark(start, concept, n_concepts)
            start += len(concept)

    @property
    def concepts(self) -> tuple[str, ...]:
        return self._window.concepts(self._inner.concepts)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        found = [*self._inner.changes, *self._window.changes()]
        shown = (change for change in found if self.rows is None or change.at < self.rows)
        return tuple(sorted(shown, key=lambda change: change.at))
