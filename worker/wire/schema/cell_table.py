"""Values of a batch by event and field: the kind of each, its number, and the bounds of its text."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.columns import Integers
from driftway.worker.wire.json_tokens.exact import Number
from driftway.worker.wire.schema.paths import ABSENT

NOTHING, NULL, NUMBER, FALSE, TRUE, TEXT, NESTED = range(7)
"""Kinds of value: absent, null, a number, false, true, a text, an object or a list."""
NO_TEXT = -1
"""Start of a NUMBER or NESTED whose text is not in the batch's."""
LARGEST_EXACT = 2.0**53
"""Up to here every whole number is a float64 of its own."""


MAX_KEPT = 1 << 22
"""Most bytes kept per partition: 5,000 events of 30 fields."""


class CellTable(NamedTuple):
    """n events by m fields."""

    kind: NDArray[np.uint8]
    """u1[n, m]."""
    number: NDArray[np.float64]
    """f8[n, m]: value of a NUMBER; infinite if it is an integer beyond the range of float64."""
    start: Integers
    """i8[n, m]: start of a TEXT in the batch's text, after its opening quote; also that of a NUMBER or NESTED, or
    NO_TEXT."""
    end: Integers
    """i8[n, m]: end of a TEXT, before its closing quote."""

    @classmethod
    def of(cls, n: int, m: int) -> CellTable:
        """Allocate cells, all NOTHING."""
        return cls(np.zeros((n, m), np.uint8), np.empty((n, m)), np.empty((n, m), np.int64), np.empty((n, m), np.int64))

    def first(self, n: int) -> CellTable:
        """Return the cells of the first n events, reset to NOTHING."""
        self.kind[:n] = NOTHING
        return CellTable(self.kind[:n], self.number[:n], self.start[:n], self.end[:n])


class CellBuffer:
    """Reuses cells from batch to batch: mapping the pages of new ones took as long as reading the events.

    Parameters
    ----------
    fields : int
        Number of fields, m.
    """

    def __init__(self, fields: int) -> None:
        self._kept, self._fields = CellTable.of(0, fields), fields

    def cells(self, n: int) -> CellTable:
        """Return cells of n events, all NOTHING; those of the previous call must no longer be used."""
        if n > len(self._kept.kind):
            made = CellTable.of(n, self._fields)
            if sum(column.nbytes for column in made) > MAX_KEPT:
                return made
            self._kept = made
        return self._kept.first(n)


class ExtraText:
    """Collects texts that no event contains verbatim, to be appended to the batch's text.

    Parameters
    ----------
    end : int
        Length of the batch's text.
    """

    def __init__(self, end: int) -> None:
        self._end, self.texts = end, list[bytes]()

    def add(self, text: bytes) -> tuple[int, int]:
        """Add a text and return its bounds. A quote follows it, at which readers of numbers stop."""
        start = self._end
        self.texts.append(text)
        self.texts.append(b'"')
        self._end += len(text) + 1
        return start, start + len(text)


def put(cells: CellTable, i: int, j: int, value: Any, tail: ExtraText) -> None:
    """Write a Python value, as orjson or `codec.parse_exactly` parses it, into a cell."""
    cells.kind[i, j], cells.start[i, j] = kind_of(value), NO_TEXT
    if isinstance(value, str):
        cells.start[i, j], cells.end[i, j] = tail.add(value.encode(errors="replace"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        cells.number[i, j] = number
        if abs(number) >= LARGEST_EXACT and isinstance(value, int | Number):
            cells.start[i, j], _ = tail.add(value.text if isinstance(value, Number) else b"%d" % value)


def kind_of(value: Any) -> int:
    """Return the kind of a Python value."""
    if value is ABSENT:
        return NOTHING
    if value is None:
        return NULL
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int | float):
        return NUMBER
    return TEXT if isinstance(value, str) else NESTED
