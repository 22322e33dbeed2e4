"""Values of a batch of events, by event and place: what kind each is, its number, and where its text stands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.columns import Integers
from driftway.worker.wire.schema.paths import ABSENT

NOTHING, NULL, NUMBER, FALSE, TRUE, TEXT, NESTED = range(7)
"""Kinds: nothing there, null, a number, false, true, a text, an object or a list."""


MOST_KEPT = 1 << 22
"""Bytes that each partition may keep: 5,000 events of 30 places."""


class CellTable(NamedTuple):
    """n events by m places."""

    kind: NDArray[np.uint8]
    """u1[n, m]."""
    number: NDArray[np.float64]
    """f8[n, m], of a NUMBER; it may be infinite, from an integer that no float64 holds."""
    start: Integers
    """i8[n, m]: where a TEXT begins in the batch's text, behind its quote; of a scanned NUMBER where that begins."""
    end: Integers
    """i8[n, m]: where a TEXT ends, before its quote."""

    @classmethod
    def of(cls, n: int, m: int) -> CellTable:
        """Of which nothing is known."""
        return cls(np.zeros((n, m), np.uint8), np.empty((n, m)), np.empty((n, m), np.int64), np.empty((n, m), np.int64))

    def first(self, n: int) -> CellTable:
        """Those of the first n events, of which nothing is known any more."""
        self.kind[:n] = NOTHING
        return CellTable(self.kind[:n], self.number[:n], self.start[:n], self.end[:n])


class CellBuffer:
    """Keeps cells from batch to batch: the pages of new ones took as long as the events in them.

    Parameters
    ----------
    places : int
        m.
    """

    def __init__(self, places: int) -> None:
        self._kept, self._places = CellTable.of(0, places), places

    def cells(self, n: int) -> CellTable:
        """Of n events, of which nothing is known; those of the call before are no longer to be used."""
        if n > len(self._kept.kind):
            made = CellTable.of(n, self._places)
            if sum(column.nbytes for column in made) > MOST_KEPT:
                return made
            self._kept = made
        return self._kept.first(n)


class ExtraText:
    """Texts that stand in no event as they are, gathered to be put behind the batch's text.

    Parameters
    ----------
    end : int
        Length of that text.
    """

    def __init__(self, end: int) -> None:
        self._end, self.texts = end, list[bytes]()

    def add(self, text: bytes) -> tuple[int, int]:
        """Where a text will stand. A quote follows it, at which readers of numbers stop."""
        start = self._end
        self.texts.append(text)
        self.texts.append(b'"')
        self._end += len(text) + 1
        return start, start + len(text)


def put(cells: CellTable, i: int, j: int, value: Any, tail: ExtraText) -> None:
    """Write a value of Python's, as orjson reads it, into a cell."""
    cells.kind[i, j] = kind_of(value)
    if isinstance(value, str):
        cells.start[i, j], cells.end[i, j] = tail.add(value.encode(errors="replace"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            cells.number[i, j] = float(value)
        except OverflowError:
            cells.number[i, j] = np.inf


def kind_of(value: Any) -> int:
    """The kind of a value of Python's."""
    if value is ABSENT:
        return NOTHING
    if value is None:
        return NULL
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int | float):
        return NUMBER
    return TEXT if isinstance(value, str) else NESTED
