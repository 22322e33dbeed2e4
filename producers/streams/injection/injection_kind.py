"""What a kind of injection is, how it is requested, and its source of randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.numeric import random
from driftway.producers.streams.options import Option, Values, option
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Change, Stream, copy_schema
from driftway.worker.errors import UsageFailure

Words = NDArray[np.uint64]

END = 2**62
"""The row that stands for "to the end": larger than any row, and `END + 1` still fits an i8."""

MAX_ROWS = 10**15
"""Largest row that an option may name: exact as a float, and sums of a few stay below `END`."""

SALT = 0x696E6A656374696F
"""Separates the random numbers of an injection from a generator's of the same seed ("injectio" in ASCII)."""

WINDOW = (
    option("from", 0, "integer", low=0, high=MAX_ROWS, meaning="first affected row, counted from 0"),
    option("until", END, "integer", low=1, high=MAX_ROWS, meaning="first row after it; default: no end"),
)


class InjectionRequest(NamedTuple):
    """One injection as requested."""

    text: str
    """``KIND:option=value,...``"""
    values: Values
    seed: int
    """Seed of `words`; 0 <= seed < 2**64."""
    second: Stream | None
    """The stream given by ``to``."""
    columns: tuple[int, ...]
    """Indices of the features it affects; all unless ``columns`` names some."""


@dataclass(frozen=True)
class InjectionKind:
    """One kind of injection.

    Parameters
    ----------
    name, summary, source : str
        For users; the source is a paper or the reason why there is none.
    options : tuple of Option
        Numeric options; ``seed`` is always added to them.
    required : tuple of str
        Options without a default.
    build : callable
        (stream, InjectionRequest) -> the stream with the injection.
    second : bool
        Whether it takes ``to=STREAM``.
    columns : bool
        Whether it takes ``columns=a/b``.
    """

    name: str
    summary: str
    source: str
    options: tuple[Option, ...]
    required: tuple[str, ...]
    build: Callable[[Stream, InjectionRequest], Stream]
    second: bool = False
    columns: bool = False


class DriftWindow(NamedTuple):
    """The rows start <= t < end of a stream, which an injection affects.

    `word` is appended to the names of their concepts; None if no concept changes, see `Change.drift`.
    """

    kind: str
    start: int
    end: int
    word: str | None = None

    def concepts(self, inner: tuple[str, ...]) -> tuple[str, ...]:
        """Names of all concepts: the stream's own, then each of them inside the window."""
        return inner if self.word is None else inner + tuple(f"{name} {self.word}" for name in inner)

    def mark(self, start: int, concept: NDArray[np.int64], n_concepts: int) -> NDArray[np.int64]:
        """The concepts i8[n] of rows start, start + 1, ... of a stream with `n_concepts` of its own."""
        if self.word is None:
            return concept
        return concept + n_concepts * self.inside(start, len(concept))

    def inside(self, start: int, n: int) -> NDArray[np.bool_]:
        """Which of the rows start, start + 1, ... are inside the window: bool[n]."""
        rows = np.arange(start, start + n)
        inside: NDArray[np.bool_] = (rows >= self.start) & (rows < self.end)
        return inside

    def changes(self) -> list[Change]:
        """The start and the end of the window; a start at row 0 is no change."""
        edges = [(self.kind, self.start)] if self.start > 0 else []
        edges += [(f"{self.kind} ends", self.end)] if self.end < END else []
        return [Change(kind, row, row, row, self.word is not None) for kind, row in edges]


def window_of(kind: str, values: Values, word: str | None = None, start: str = "from") -> DriftWindow:
    """The window given by the options `start` and ``until``.

    Raises
    ------
    UsageFailure
        It is empty.
    """
    if values["until"] <= values[start]:
        raise UsageFailure(f"{kind}: until must lie after {start}, got {values['until']} and {values[start]}")
    return DriftWindow(kind, values[start], values["until"], word)


def words(seed: int) -> Words:
    """A fresh generator state u8[4] for `seed`."""
    state = np.zeros(4, np.uint64)
    random.seed(state, np.uint64(seed))
    return state


class Injected(Stream):
    """A stream with an injection; its subclasses read `traced`, and say in `changes` what happens where.

    Parameters
    ----------
    stream : Stream
        The stream without it.
    request : InjectionRequest
        The request.
    """

    def __init__(self, stream: Stream, request: InjectionRequest) -> None:
        self._inner, self._seed = stream, request.seed
        copy_schema(self, stream, request.text)

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        """Read the stream without the rows' concepts."""
        return (block for block, _ in self.traced(size))

    @property
    def root(self) -> Stream:
        """The stream without any injection."""
        return self._inner.root

    @cached_property
    def drift_points(self) -> tuple[int, ...]:  # type: ignore[override]
        """The rows, sorted and unique, at which one concept replaces another."""
        return tuple(sorted({change.at for change in self.changes if change.drift and change.at > 0}))


def class_count(stream: Stream, request: InjectionRequest, kind: str) -> int:
    """Number of classes of a stream: the option ``classes``, else its labels, else 2.

    Raises
    ------
    UsageFailure
        The stream is for regression.
    """
    if stream.task == "regression":
        raise UsageFailure(f"{kind} needs classes; {stream.name} is a regression stream")
    named = 2 if stream.labels is None else len(stream.labels)
    return int(request.values["classes"]) or named


def check_classes(kind: str, y: NDArray[np.float64], start: int, n_classes: int) -> None:
    """Require class indices or NaN.

    Raises
    ------
    UsageFailure
        There is another label; the message names it and its row.
    """
    wrong = ~(np.isnan(y) | ((y >= 0) & (y < n_classes) & (y == np.floor(y))))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageFailure(
            f"{kind}: label {y[row]:g} in row {start + row} is not a class index of 0 to {n_classes - 1}; "
            "name the classes (--labels) or say how many there are (classes=K)"
        )


CLASSES = option(
    "classes", 0, "integer", low=0, high=10_000, meaning="number of classes; default: the stream's labels, else 2"
)
