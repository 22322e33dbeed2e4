"""The interface of every stream: named columns and blocks of rows, independent of formats and randomness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.errors import UsageFailure

Array = NDArray[np.float64]
Concepts = NDArray[np.int64]
Task = Literal["classification", "regression"]

BLOCK_ROWS = 8192
"""Default rows per block: 0.6 MB at 8 features, so that a block fits in the L2 cache."""


class Block(NamedTuple):
    """Consecutive rows of a stream.

    Shapes: X f8[n, d] C-contiguous, NaN where a feature is missing; y f8[n], a class index or a target, NaN
    where the label is missing.
    """

    X: Array
    y: Array


Traced = tuple[Block, Concepts]
"""Rows and their ground truth: i8[n], the concept that each row comes from."""


class Change(NamedTuple):
    """A change of a stream, part of its ground truth.

    Rows start <= t < end mix old and new; `at` is the row that stands for the change: the middle of a sigmoid, or the
    first row that may be new. Sudden changes have start = end = at. `drift` is False if the data become worse or rarer
    but no concept replaces another (noise, missing values, imbalance); no alarm is expected there.
    """

    kind: str
    at: int
    start: int
    end: int
    drift: bool = True


class Stream(ABC):
    """A finite sequence of labelled rows, the same on each read and for any block size.

    Attributes
    ----------
    name : str
        Name given by the user.
    feature_names : tuple of str
        One per column of X.
    label_name : str
        Name of the label column.
    labels : tuple of str or None
        Class names in index order, if known.
    rows : int or None
        Length, if known without reading everything.
    drift_points : tuple of int
        Row indices, counted from 0, at which a new concept starts; empty if unknown or none.
    task : str or None
        ``classification`` or ``regression``, if known.
    source : str
        Where the rows come from: a citation or a file.
    notes : tuple of str
        What was guessed about a file or left out, in words.
    injections : tuple of str
        What was injected, in order, as ``KIND:option=value,...``; empty if nothing was.
    """

    name: str = ""
    feature_names: tuple[str, ...] = ()
    label_name: str = "y"
    labels: tuple[str, ...] | None = None
    rows: int | None = None
    drift_points: tuple[int, ...] = ()
    task: Task | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    injections: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return len(self.feature_names)

    @abstractmethod
    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        """Read the stream from its first row, in blocks of `size` rows; the last one may be shorter.

        Parameters
        ----------
        size : int
            Rows per block, >= 1. No bit of any row depends on it.

        Raises
        ------
        UsageFailure
            A file's row is not valid; the message names the column and the value.
        """

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        """Read the stream like `blocks`, with the concept of each row, i8[n]: an index into `concepts`.

        Unless overridden, the concept is the stage: the number of drift points at or before the row.
        """
        start, points = 0, self.drift_points
        for block in self.blocks(size):
            stage = bisect_right(points, start)
            concept = np.full(len(block.y), stage, np.int64)
            for later in range(stage, bisect_right(points, start + len(concept) - 1)):
                concept[points[later] - start :] = later + 1
            yield block, concept
            start += len(concept)

    @property
    def concepts(self) -> tuple[str, ...]:
        """Names of the concepts, indexed by id."""
        if not self.drift_points:
            return (self.name,)
        return tuple(f"{self.name} stage {stage}" for stage in range(1, len(self.drift_points) + 2))

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of the stream, in order; may read the whole stream."""
        return tuple(Change("stage", point, point, point) for point in self.drift_points)

    @property
    def root(self) -> Stream:
        """The stream before anything was injected or cut."""
        return self


def copy_schema(stream: Stream, of: Stream, injection: str = "") -> None:
    """Copy columns, labels, name and source from `of` to `stream`, and add `injection` to them."""
    stream.name = f"{of.name}+{injection}" if injection else of.name
    stream.feature_names = of.feature_names
    stream.label_name = of.label_name
    stream.labels = of.labels
    stream.task = of.task
    stream.source = of.source
    stream.notes = of.notes
    stream.injections = (*of.injections, injection) if injection else of.injections


class FirstRows(Stream):
    """The first `rows` rows of another stream.

    Parameters
    ----------
    whole : Stream
        The stream to truncate.
    rows : int
        Number of rows to keep, >= 1.
    """

    def __init__(self, whole: Stream, rows: int) -> None:
        self._whole = whole
        self._most = rows
        copy_schema(self, whole)
        self.rows = None if whole.rows is None else min(rows, whole.rows)

    @cached_property
    def drift_points(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(point for point in self._whole.drift_points if point < self._most)

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        left = self._most
        for block in self._whole.blocks(size):
            yield Block(block.X[:left], block.y[:left])
            left -= len(block.y)
            if left <= 0:
                return

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        left = self._most
        for block, concept in self._whole.traced(size):
            yield Block(block.X[:left], block.y[:left]), concept[:left]
            left -= len(block.y)
            if left <= 0:
                return

    @property
    def concepts(self) -> tuple[str, ...]:
        return self._whole.concepts

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for change in self._whole.changes if change.at < self._most)

    @property
    def root(self) -> Stream:
        return self._whole.root


def find_column(stream: Stream, name: str, option: str) -> int:
    """Index of the column `name` among the features, in order, followed by the label.

    Raises
    ------
    UsageFailure
        There is no such column; `option` says where the name was given.
    """
    columns = (*stream.feature_names, stream.label_name)
    if name not in columns:
        some = ", ".join(columns[:8]) + (", ..." if len(columns) > 8 else "")
        raise UsageFailure(f"{stream.name} has no column {name!r} for {option}; columns: {some}")
    return columns.index(name)


def column_of(block: Block, at: int) -> Array:
    """The column with an index from `find_column`. Shapes: returns f8[n]."""
    return block.y if at == block.X.shape[1] else block.X[:, at]


def reblock(chunks: Iterable[Block], size: int) -> Iterator[Block]:
    """Cut chunks of any length into blocks of `size` rows, the last one shorter.

    A file reader's chunks are measured in bytes, not in rows, which callers of `Stream.blocks` must not notice.
    """
    parts: list[Block] = []
    held = 0
    for chunk in chunks:
        start, length = 0, len(chunk.y)
        while start < length:
            take = min(size - held, length - start)
            parts.append(Block(chunk.X[start : start + take], chunk.y[start : start + take]))
            held += take
            start += take
            if held == size:
                yield _join(parts)
                parts, held = [], 0
    if held:
        yield _join(parts)


def _join(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return Block(np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts]))
