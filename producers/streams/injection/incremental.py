"""Incremental drift: between two rows of the stream, rows slide from one stream to a second.

Features are interpolated, labels are not. A stream does not expose its labelling rule, so the label under a concept
half way is unknown; but the weighted mean of two rows of one class is a row of that class half way: class means move in
straight lines at constant speed, and a linear boundary moves in parallel from the first stream's to the second's if
both have one direction (SEA). Rows are paired at random, so a class is narrower in between than at either end.
Regression targets have no class to pair by; they are interpolated together with the features.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.producers.streams.injection.injection_kind import (
    CLASSES,
    END,
    MAX_ROWS,
    Injected,
    InjectionKind,
    InjectionRequest,
    check_classes,
    class_count,
)
from driftway.producers.streams.injection.rows import TracedRows
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Change, Stream, Traced
from driftway.worker.errors import UsageFailure


@kernel
def slide_classes(
    latest: Array, seen: NDArray[np.bool_], start: int, length: int, A: Array, ya: Array, B: Array, yb: Array, X: Array
) -> None:
    """Interpolate each row of the first stream with the latest row of its class in the second.

    Shapes: latest f8[K, d] and seen bool[K] (kept between blocks), A, B, X f8[n, d], ya, yb f8[n]. Row i is number
    start + i of `length`. Until the second stream has had a row of the class, a row stays as it is; a row without a
    label is paired with the second stream's current row.
    """
    for i in range(A.shape[0]):
        if not np.isnan(yb[i]):
            seen[int(yb[i])] = True
            for j in range(B.shape[1]):
                latest[int(yb[i]), j] = B[i, j]
        w = (start + i) / length
        if np.isnan(ya[i]):
            partner = B[i]
        elif seen[int(ya[i])]:
            partner = latest[int(ya[i])]
        else:
            partner = A[i]
        for j in range(A.shape[1]):
            X[i, j] = (1.0 - w) * A[i, j] + w * partner[j]


class Sliding(Injected):
    """The first stream before `from`, the second from `until` on, and interpolated pairs of their rows in between.

    Concepts: those of the first stream, those of the second, then the transitions from each of the first's to each
    of the second's.

    Parameters
    ----------
    stream : Stream
        The first stream.
    request : InjectionRequest
        The request, with the second stream, ``from``, ``until`` and ``classes``.

    Raises
    ------
    UsageFailure
        `until` is not after `from`.
    """

    def __init__(self, stream: Stream, request: InjectionRequest) -> None:
        assert request.second is not None  # noqa: S101 - `spec` requires it
        super().__init__(stream, request)
        self._first, self._second = stream, request.second
        self._from: int = request.values["from"]
        self._until: int = request.values["until"]
        if self._until <= self._from:
            raise UsageFailure(f"incremental: until must lie after from, got {self._until} and {self._from}")
        self.labels = stream.labels or self._second.labels
        self.task = stream.task or self._second.task
        self._n_classes = 0 if self.task == "regression" else class_count(self, request, "incremental")

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        first = TracedRows(self._first.traced(size), self.n_features)
        second = TracedRows(self._second.traced(size), self.n_features)
        counts = len(self._first.concepts), len(self._second.concepts)
        latest, seen = np.zeros((self._n_classes, self.n_features)), np.zeros(self._n_classes, np.bool_)
        joined = TracedRows(self._phases(first, second, counts, latest, seen, size), self.n_features)
        while len((part := joined.take(size))[1]):
            yield part

    @property
    def concepts(self) -> tuple[str, ...]:
        first, second = self._first.concepts, self._second.concepts
        return (*first, *second, *(f"{one} sliding to {other}" for one in first for other in second))

    @cached_property
    def rows(self) -> int | None:  # type: ignore[override]
        if self._first.rows is None or self._second.rows is None:
            return None
        length = self._from + self._second.rows
        return length if self._first.rows >= min(self._until, length) else self._first.rows

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        own = Change("incremental", self._from, self._from, self._until)
        found = [own, Change("incremental ends", self._until, self._until, self._until)]
        found += [change for change in self._first.changes if change.at < self._until]
        found += [
            Change(kind, at + self._from, low + self._from, high + self._from, drift)
            for kind, at, low, high, drift in self._second.changes
        ]
        rows = END if self.rows is None else self.rows
        return tuple(sorted((change for change in found if change.at < rows), key=lambda change: change.at))

    def _phases(
        self,
        first: TracedRows,
        second: TracedRows,
        counts: tuple[int, int],
        latest: Array,
        seen: NDArray[np.bool_],
        size: int,
    ) -> Iterator[Traced]:
        row = 0
        while row < self._until:
            n = min(size, (self._from if row < self._from else self._until) - row)
            ours = first.take(n)
            if row < self._from:
                yield ours
                row += len(ours[1])
            else:
                theirs = second.take(len(ours[1]))
                block = self._slide(row, ours[0], theirs[0], latest, seen)
                yield block, sum(counts) + ours[1][: len(block.y)] * counts[1] + theirs[1]
                row += len(block.y)
                if len(theirs[1]) < len(ours[1]):
                    return
            if len(ours[1]) < n:
                return
        while len((theirs := second.take(size))[1]):
            yield theirs[0], theirs[1] + counts[0]

    def _slide(self, row: int, ours: Block, theirs: Block, latest: Array, seen: NDArray[np.bool_]) -> Block:
        n = len(theirs.y)
        A, ya = ours.X[:n], ours.y[:n]
        start, length = row - self._from, self._until - self._from
        if self._n_classes == 0:
            w = (start + np.arange(n)) / length
            return Block((1.0 - w)[:, None] * A + w[:, None] * theirs.X, (1.0 - w) * ya + w * theirs.y)
        check_classes("incremental", ya, row, self._n_classes)
        check_classes("incremental", theirs.y, start, self._n_classes)
        X = np.empty_like(A, order="C")
        slide_classes(latest, seen, start, length, A, ya, theirs.X, theirs.y, X)
        return Block(X, ya)


KIND = InjectionKind(
    name="incremental",
    summary="From row `from` to row `until` features move gradually from the stream to the second, class by class; "
    "after that come the second stream's own rows. Targets of a regression move along.",
    source="Gama et al., A survey on concept drift adaptation, ACM Computing Surveys 46(4), 2014, figure 2; pairing "
    "within a class is this project's choice",
    options=(
        option("from", None, "integer", low=0, high=MAX_ROWS, meaning="first row of the transition"),
        option(
            "until", None, "integer", low=1, high=MAX_ROWS, meaning="first row that is from the second stream alone"
        ),
        CLASSES,
    ),
    required=("from", "until"),
    build=Sliding,
    second=True,
)
