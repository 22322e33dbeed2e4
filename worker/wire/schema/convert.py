"""Cells to columns of numbers, one kernel for each kind of feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel_without_refcounts
from driftway.worker.wire.columns import SPARE, Integers
from driftway.worker.wire.events import NUMBER as NUMBER_IN_TEXT
from driftway.worker.wire.events import as_number
from driftway.worker.wire.json_tokens.decimals import Text, Words, read_number
from driftway.worker.wire.json_tokens.tokens import same
from driftway.worker.wire.schema.cell_table import FALSE, NESTED, NULL, NUMBER, TEXT, TRUE, CellTable
from driftway.worker.wire.schema.feature import OTHERS
from driftway.worker.wire.schema.times import NOT_A_TIME

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]
"""i1[n, features]: what became of each value."""

GOOD, MISSING, WRONG, INFINITE, NEEDS_PARSER = range(5)
"""What became of a value: read, not there, of another kind, not finite, or left to Python."""
WORD_OF_FALSE, WORD_OF_TRUE = b"false", b"true"
OFFSET_BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
HASHED_NUMBER = np.uint64(1)
"""Goes before the bits of a number, so that 1 and "1" are hashed as what they are."""


class Categories(NamedTuple):
    """Texts to compare with, and the numbers that they are."""

    text: Text
    """One after the other, and SPARE bytes."""
    bounds: Words
    """u8[k + 1]."""
    number: Floats
    """f8[k], NaN of a text that is no number."""
    truth: Integers
    """i8[2]: which of them false and true are; -1: none."""
    others: int
    """The one that all other values are; -1: none."""

    @classmethod
    def of(cls, names: tuple[str, ...], with_others: bool = True) -> Categories:
        """In this order; OTHERS takes what is none of them, unless it is a name as others."""
        texts = [name.encode() for name in names]
        bounds = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
        numbers = [as_number(name) for name in names]
        values = [math.nan if isinstance(number, str) else float(number) for number in numbers]
        truth = [texts.index(word) if word in texts else -1 for word in (WORD_OF_FALSE, WORD_OF_TRUE)]
        others = names.index(OTHERS) if with_others and OTHERS in names else -1
        whole = np.frombuffer(b"".join(texts) + bytes(SPARE), np.uint8)
        return cls(whole, bounds, np.array(values), np.array(truth, np.int64), others)


class FeatureSlot(NamedTuple):
    """Where a feature is read and written."""

    place: int
    """Of its cells."""
    feature: int
    """Its number, the column of its codes."""
    column: int
    """Its first one in a row."""
    width: int
    """How many columns it has."""


class FeatureSlots(NamedTuple):
    """Of several features of one column each."""

    feature: Integers
    place: Integers
    column: Integers

    @classmethod
    def of(cls, spots: Sequence[FeatureSlot]) -> FeatureSlots:
        """The same by columns, i8[k] each."""
        rows = [(spot.feature, spot.place, spot.column) for spot in spots]
        return cls(*np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 3).T))


@kernel_without_refcounts
def read_numbers(cells: CellTable, spots: FeatureSlots, text: Text, X: Floats, codes: Codes) -> bool:
    """Numbers, truth values as 0 and 1, numbers in text; whether none is HARD.

    Shapes: X f8[n, columns], NaN where not GOOD; codes i1[n, features].
    """
    easy = True
    for i in range(X.shape[0]):
        for k in range(spots.place.shape[0]):
            place = spots.place[k]
            kind, value, code = cells.kind[i, place], math.nan, GOOD
            if kind == NUMBER:
                value = cells.number[i, place]
                if not math.isfinite(value):
                    value, code = math.nan, INFINITE
            elif FALSE <= kind <= TRUE:
                value = 1.0 if kind == TRUE else 0.0
            elif kind == TEXT:
                start, end = cells.start[i, place], cells.end[i, place]
                if start == end:
                    code = MISSING
                else:
                    p, value = read_number(text, np.uint64(start))
                    if p != np.uint64(end):
                        value, code, easy = math.nan, NEEDS_PARSER, False
            else:
                code = WRONG if kind == NESTED else MISSING
            X[i, spots.column[k]] = value
            codes[i, spots.feature[k]] = code
    return easy


def number_in_text(text: bytes) -> tuple[float, int]:
    """What `read_numbers` leaves: (value, code) of a text that is a number in a wider sense than JSON's."""
    stripped = text.decode(errors="replace").strip()
    if not stripped:
        return math.nan, MISSING
    if not NUMBER_IN_TEXT.fullmatch(stripped):
        return math.nan, WRONG
    value = float(stripped)
    return (value, GOOD) if math.isfinite(value) else (math.nan, INFINITE)


@kernel_without_refcounts
def read_categories(
    cells: CellTable, spot: FeatureSlot, text: Text, known: Categories, out: Integers, codes: Codes
) -> None:
    """Which category each value is, -1: none. Shapes: out i8[n], codes i1[n, features]."""
    for i in range(out.shape[0]):
        kind = cells.kind[i, spot.place]
        out[i] = known.others
        codes[i, spot.feature] = GOOD
        if kind == TEXT:
            found = _index_of(text, cells.start[i, spot.place], cells.end[i, spot.place], known)
            if found >= 0:
                out[i] = found
        elif kind == NUMBER:
            for k in range(known.number.shape[0]):
                if known.number[k] == cells.number[i, spot.place]:
                    out[i] = k
                    break
        elif FALSE <= kind <= TRUE:
            found = known.truth[1 if kind == TRUE else 0]
            if found >= 0:
                out[i] = found
        else:
            codes[i, spot.feature] = WRONG if kind == NESTED else MISSING


@fragment
def _index_of(text: Text, start: int, end: int, known: Categories) -> int:
    """Which category's text text[start:end] is, or -1."""
    size = np.uint64(end - start)
    for k in range(known.number.shape[0]):
        first, last = known.bounds[k], known.bounds[k + 1]
        if last - first == size and (size == np.uint64(0) or same(text, np.uint64(start), known.text, first, last)):
            return k
    return -1


@kernel_without_refcounts
def as_classes(index: Integers, codes: Codes, y: Floats) -> None:
    """Labels of categories; none of them is WRONG. Shapes: index i8[n], codes i1[n, 1], y f8[n, 1]."""
    for i in range(y.shape[0]):
        known = codes[i, 0] == GOOD and index[i] >= 0
        y[i, 0] = float(index[i]) if known else math.nan
        if codes[i, 0] == GOOD and not known:
            codes[i, 0] = WRONG


@kernel_without_refcounts
def one_hot(index: Integers, spot: FeatureSlot, codes: Codes, X: Floats) -> None:
    """1 in the column of the index, none for -1; NaN in all where not GOOD. Shapes: index i8[n], X f8[n, columns]."""
    for i in range(X.shape[0]):
        good = codes[i, spot.feature] == GOOD
        for k in range(spot.width):
            X[i, spot.column + k] = 0.0 if good else math.nan
        if good and index[i] >= 0:
            X[i, spot.column + index[i]] = 1.0


@kernel_without_refcounts
def read_hashes(cells: CellTable, spot: FeatureSlot, text: Text, count: int, out: Integers, codes: Codes) -> None:
    """Which of `count` each value's hash chooses: FNV-1a of the text, or of a number's bits.

    Shapes: out i8[n], codes i1[n, features].
    """
    for i in range(out.shape[0]):
        kind, h = cells.kind[i, spot.place], OFFSET_BASIS
        out[i] = -1
        codes[i, spot.feature] = GOOD
        if kind == TEXT:
            for p in range(cells.start[i, spot.place], cells.end[i, spot.place]):
                h = (h ^ np.uint64(text[p])) * PRIME
        elif kind == NUMBER:
            bits = np.float64(cells.number[i, spot.place] + 0.0).view(np.uint64)  # -0.0 is 0
            h = (h ^ HASHED_NUMBER) * PRIME
            for k in range(8):
                h = (h ^ ((bits >> np.uint64(8 * k)) & np.uint64(255))) * PRIME
        elif FALSE <= kind <= TRUE:
            h = (h ^ np.uint64(kind)) * PRIME
        else:
            codes[i, spot.feature] = WRONG if kind == NESTED else MISSING
            continue
        # FNV's low bits alone are poor: fold the high ones in.
        h ^= h >> np.uint64(32)
        out[i] = np.int64(h % np.uint64(count))


@kernel_without_refcounts
def write_index(cells: CellTable, spot: FeatureSlot, count: int, hashed: Integers, codes: Codes, X: Floats) -> None:
    """Each value as a whole number below `count`: itself if it is one, else its hash; NaN where not GOOD.

    Shapes: hashed i8[n], codes i1[n, features], X f8[n, columns].
    """
    for i in range(X.shape[0]):
        value = float(hashed[i])
        if codes[i, spot.feature] != GOOD:
            value = math.nan
        elif cells.kind[i, spot.place] == NUMBER:
            number = cells.number[i, spot.place]
            if 0.0 <= number < count and number == math.floor(number):
                value = number + 0.0
        X[i, spot.column] = value


@kernel_without_refcounts
def judge_times(cells: CellTable, spot: FeatureSlot, times: Integers, codes: Codes) -> None:
    """What became of a place's times. Shapes: times i8[n], codes i1[n, features]."""
    for i in range(times.shape[0]):
        kind, code = cells.kind[i, spot.place], GOOD
        if times[i] == NOT_A_TIME:
            empty = kind == TEXT and cells.start[i, spot.place] == cells.end[i, spot.place]
            code = MISSING if kind <= NULL or empty else WRONG
        codes[i, spot.feature] = code
