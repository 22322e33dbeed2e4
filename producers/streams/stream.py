"""What every stream is: named columns and blocks of rows. No format and no random number belongs here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Task = Literal["classification", "regression"]

BLOCK_ROWS = 8192
"""Rows per block unless the caller says otherwise: 0.6 MB at 8 features, so a block stays in the L2 cache."""


class Block(NamedTuple):
    """Consecutive rows of a stream.

    Shapes: X f8[n, d] C-contiguous, NaN where a feature is missing; y f8[n], a class index or a target, NaN
    where the label is missing.
    """

    X: Array
    y: Array


class Stream(ABC):
    """A finite sequence of labelled rows that reads the same each time and however it is cut into blocks.

    Attributes
    ----------
    name : str
        What the user called it.
    feature_names : tuple of str
        One per column of X.
    label_name : str
        The label's column.
    labels : tuple of str or None
        Class names in index order, where they are known.
    rows : int or None
        Length, where it is known without reading everything.
    drift_points : tuple of int
        Row indices, counted from 0, at which a new concept starts; empty if unknown or none.
    task : str or None
        ``classification`` or ``regression``, where it is known.
    source : str
        Where the rows come from: a citation or a file.
    """

    name: str = ""
    feature_names: tuple[str, ...] = ()
    label_name: str = "y"
    labels: tuple[str, ...] | None = None
    rows: int | None = None
    drift_points: tuple[int, ...] = ()
    task: Task | None = None
    source: str = ""

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
            A file's row cannot be used; the sentence names the column and the value.
        """


class FirstRows(Stream):
    """The first `rows` rows of another stream.

    Parameters
    ----------
    whole : Stream
        The stream to cut short.
    rows : int
        How many rows to keep, >= 1.
    """

    def __init__(self, whole: Stream, rows: int) -> None:
        self._whole = whole
        self._most = rows
        self.name = whole.name
        self.feature_names = whole.feature_names
        self.label_name = whole.label_name
        self.labels = whole.labels
        self.rows = None if whole.rows is None else min(rows, whole.rows)
        self.drift_points = tuple(point for point in whole.drift_points if point < rows)
        self.task = whole.task
        self.source = whole.source

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        left = self._most
        for block in self._whole.blocks(size):
            yield Block(block.X[:left], block.y[:left])
            left -= len(block.y)
            if left <= 0:
                return


def cut(chunks: Iterable[Block], size: int) -> Iterator[Block]:
    """Cut chunks of any length into blocks of `size` rows, the last one shorter.

    A file reader's chunks follow bytes, not rows; whoever asks for blocks must not notice.
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
