"""A stream whose rows come from one of two streams, chosen row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftway.producers.streams.injection.injection_kind import Injected, InjectionRequest, Words, words
from driftway.producers.streams.injection.rows import TracedRows, portion
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Change, Stream, Traced

Choose = Callable[[Words, int, int], NDArray[np.bool_]]
"""(random state, first row, n) -> bool[n], True where the row comes from the second stream; may draw, in row order."""

WALK_ROWS = 1 << 16
"""Rows chosen at once if only their positions are needed: 64 kB."""


class Switched(Injected):
    """Rows of `stream` or of the second stream, each of which continues where it stopped.

    Neither stream loses rows while the other one is read. The result ends when the chosen stream has no row left, as
    in MOA's and River's ConceptDriftStream. Concepts: those of the first stream, then those of the second.

    Parameters
    ----------
    stream : Stream
        The first stream.
    request : InjectionRequest
        The request, with the second stream.
    choose : callable
        Chooses the stream of each row.
    settled : int
        From this row on, all rows are the second stream's; END if never.
    own : callable
        Number of rows -> the changes caused by switching.
    """

    def __init__(
        self,
        stream: Stream,
        request: InjectionRequest,
        choose: Choose,
        settled: int,
        own: Callable[[int], Sequence[Change]],
    ) -> None:
        assert request.second is not None  # noqa: S101 - `spec` requires it for the kinds that build this
        super().__init__(stream, request)
        self._first, self._second = stream, request.second
        self._choose = choose
        self._settled = settled
        self._own = own
        self.labels = stream.labels or self._second.labels
        self.task = stream.task or self._second.task

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        state, start = words(self._seed), 0
        offset = len(self._first.concepts)
        first = TracedRows(self._first.traced(size), self.n_features)
        second = TracedRows(self._second.traced(size), self.n_features)
        while True:
            late = self._choose(state, start, size)
            n_second = int(np.count_nonzero(late))
            ours, theirs = first.take(size - n_second), second.take(n_second)
            n = min(_served(~late, len(ours[1])), _served(late, len(theirs[1])))
            if n > 0:
                yield _merge(late[:n], ours, (theirs[0], theirs[1] + offset))
            if n < size:
                return
            start += n

    @property
    def concepts(self) -> tuple[str, ...]:
        return self._first.concepts + self._second.concepts

    @cached_property
    def rows(self) -> int | None:  # type: ignore[override]
        """Known if both lengths are: the first row for which the chosen stream has none left."""
        if self._first.rows is None or self._second.rows is None:
            return None
        most = self._first.rows + self._second.rows
        ends = self._rows_of([self._first.rows], [self._second.rows], most + 1)
        return min((end[0] for end in ends if end[0] is not None), default=None)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Both streams' changes, at their rows' positions in this stream, and the switches."""
        rows = self.rows
        if rows is None:
            rows = sum(len(block.y) for block in self.blocks())  # the length is unknown, so read all rows to find it
        found = list(self._own(rows))
        inner = (self._first.changes, self._second.changes)
        edges = [[edge for change in changes for edge in change[1:4]] for changes in inner]
        for changes, rows_there in zip(inner, self._rows_of(edges[0], edges[1], rows), strict=True):
            for number, change in enumerate(changes):
                at, low, high = rows_there[3 * number : 3 * number + 3]
                if at is not None and at > 0:
                    end = at if high is None else high
                    found.append(Change(change.kind, at, at if low is None else low, end, change.drift))
        return tuple(sorted((change for change in found if change.at < rows), key=lambda change: change.at))

    def _rows_of(
        self, of_first: Sequence[int], of_second: Sequence[int], most_rows: int
    ) -> tuple[list[int | None], list[int | None]]:
        """Positions of the two streams' rows in this one, as if both were endless; None = not within `most_rows`.

        Repeats only the choices, without reading any row.
        """
        sought = [np.array(positions, np.int64) for positions in (of_first, of_second)]
        found: list[list[int | None]] = [[None] * len(positions) for positions in (of_first, of_second)]
        most = [max(positions, default=-1) for positions in (of_first, of_second)]
        state, start, counts = words(self._seed), 0, [0, 0]
        until = min(self._settled, most_rows)
        while start < until and any(count <= last for count, last in zip(counts, most, strict=True)):
            n = min(WALK_ROWS, until - start)
            late = self._choose(state, start, n)
            for side, turn in enumerate((~late, late)):
                rows_there = np.flatnonzero(turn)
                here = sought[side] - counts[side]
                for k in np.flatnonzero((here >= 0) & (here < len(rows_there))).tolist():
                    found[side][k] = start + int(rows_there[here[k]])
                counts[side] += len(rows_there)
            start += n
        if start >= self._settled:
            for k, position in enumerate(of_second):
                if counts[1] <= position:
                    found[1][k] = start + position - counts[1]
        return found[0], found[1]


def _served(turn: NDArray[np.bool_], supply: int) -> int:
    """Number of rows before the first one that the stream with this `supply` of rows lacks."""
    rows_there = np.flatnonzero(turn)
    return len(turn) if supply >= len(rows_there) else int(rows_there[supply])


def _merge(late: NDArray[np.bool_], ours: Traced, theirs: Traced) -> Traced:
    count = int(np.count_nonzero(late))
    if count == 0:
        return portion(ours, 0, len(late))
    if count == len(late):
        return portion(theirs, 0, len(late))
    X, y, concept = np.empty((len(late), ours[0].X.shape[1])), np.empty(len(late)), np.empty(len(late), np.int64)
    for turn, rows, n in ((~late, ours, len(late) - count), (late, theirs, count)):
        block, ids = rows
        X[turn], y[turn], concept[turn] = block.X[:n], block.y[:n], ids[:n]
    return Block(X, y), concept
