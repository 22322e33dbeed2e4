"""The kinds of CSV columns, which follow from all of their cells, and their cells as values that JSON has.

Columns are examined together, as one long array: with thousands of columns, the calls would cost more than the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from driftway.producers.streams import cells

INTEGER, FLOAT, BOOLEAN, SPELLED, TEXT = "integer", "float", "boolean", "spelled", "text"
"""SPELLED: numbers, some of them in spellings such as ``12 %`` or ``1,234.5``, or with words for missing values."""
KINDS = (INTEGER, FLOAT, BOOLEAN, SPELLED)
"""In the order in which they are preferred; TEXT fits anything."""
WHOLE = r"^(?:0|-?[1-9]\d{0,18})$"
LONG = r"^[+-]?\d{19,}$"
"""Numbers that a float would round: identifiers, which stay text unless the whole column fits 64-bit integers."""
NUMBER = r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+|inf|Inf|INF|infinity|Infinity)(?:[eE][+-]?\d+)?$"
"""Excludes codes such as 007, which stay text."""
PLAIN = r"^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$"
"""Numbers that arrow casts to the same bits as Python."""
TRUTH = r"^(?:true|True|TRUE|false|False|FALSE)$"
LONGEST_EXACT = 18
LONGEST_WHOLE = 20
"""Characters of a whole number of 64 bits, at most; Python's `int` refuses thousands of digits."""
MAX_CELLS = 1 << 20
"""Cells per array: their text must stay below 2 GiB."""


def plain_numbers(column: Any, decimal: str) -> tuple[Any, Any]:
    """A column of text as f8[n], and the indices, i8[k], of the cells that are not plain numbers, which are NaN."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = _plain(column, decimal)
    plain = compute.match_substring_regex(trimmed, PLAIN)
    floats = compute.if_else(plain, trimmed, None).cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
    return floats, np.flatnonzero(~plain.fill_null(True).to_numpy(zero_copy_only=False))


class ColumnKinds:
    """The kinds that are possible for columns of text, given the cells so far.

    Parameters
    ----------
    n : int
        Number of columns.
    decimal : str
        Decimal mark.
    missing : callable
        Column -> words that are missing values among numbers.
    """

    def __init__(self, n: int, decimal: str, missing: Callable[[int], Collection[str]]) -> None:
        self._decimal, self._missing = decimal, missing
        self._possible = {kind: np.ones(n, np.bool_) for kind in KINDS}
        self._with_number, self._with_spelling = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        """Columns with a number so far, without which words for missing values are text like any other; and with a cell
        that says nothing but text to the reader of events."""

    def add(self, columns: Sequence[Any]) -> None:
        """Look at the next cells of all columns; null is missing."""
        self._keep(INTEGER, columns, lambda cells: _matches(cells, WHOLE) & ~_too_long(cells))
        self._keep(FLOAT, columns, lambda cells: _matches(cells, NUMBER) & ~_matches(cells, LONG, of_null=False))
        self._keep(BOOLEAN, columns, lambda cells: _matches(cells, TRUTH))
        stricter = self._possible[INTEGER] | self._possible[FLOAT] | self._possible[BOOLEAN]
        self._with_number |= stricter
        for i in np.flatnonzero(self._possible[SPELLED] & ~stricter).tolist():
            words = [text.strip() for text in columns[i].unique().to_pylist() if text is not None]
            numbers = [word for word in words if word not in self._missing(i)]
            self._possible[SPELLED][i] = not any(math.isnan(cells.number(word, self._decimal)) for word in numbers)
            self._with_number[i] |= bool(numbers)
            thousands = self._decimal == "," and any("." in word for word in words)
            other = thousands or not all(map(cells.NUMBER.fullmatch, words))
            self._with_spelling[i] |= other or len(numbers) < len(words)

    def found(self) -> list[str]:
        """The kind of each column."""
        spelled = self._possible[SPELLED] & self._with_number & self._with_spelling
        possible = {**self._possible, SPELLED: spelled}
        return [next((kind for kind in KINDS if possible[kind][i]), TEXT) for i in range(len(self._with_number))]

    def _keep(self, kind: str, columns: Sequence[Any], fits: Callable[[Any], Any]) -> None:
        """Give up a kind for the columns with a cell that does not fit it."""
        possible = self._possible[kind]
        for group in _groups(np.flatnonzero(possible).tolist(), columns):
            together = _plain(_joined(columns[i] for i in group), self._decimal)
            possible[group] = fits(together).reshape(len(group), -1).all(axis=1)


def values(columns: Sequence[Any], kinds: Sequence[str], decimal: str) -> list[list[Any]]:
    """Columns of text as Python values of their kinds, with None for nulls."""
    found: list[list[Any]] = [[] for _ in columns]
    for kind in (*KINDS, TEXT):
        for group in _groups([i for i, one in enumerate(kinds) if one == kind], columns):
            together = _values(_joined(columns[i] for i in group), kind, decimal)
            n = len(together) // len(group)
            for k, i in enumerate(group):
                found[i] = together[k * n : (k + 1) * n]
    return found


def _values(column: Any, kind: str, decimal: str) -> list[Any]:
    import pyarrow as pa
    from pyarrow import compute

    if kind in (TEXT, SPELLED):
        texts: list[Any] = column.to_pylist()
        return texts if kind == TEXT else [_spelled(text, decimal) for text in texts]
    trimmed = _plain(column, decimal)
    if kind == BOOLEAN:
        trimmed = compute.utf8_lower(trimmed)
    types = {INTEGER: pa.int64(), FLOAT: pa.float64(), BOOLEAN: pa.bool_()}
    converted: list[Any] = trimmed.cast(types[kind]).to_pylist()
    return converted


def _groups(columns: list[int], of: Sequence[Any]) -> Iterable[list[int]]:
    """Cut columns into groups of at most MAX_CELLS cells."""
    most = max(1, MAX_CELLS // max(1, len(of[0]))) if of else 1
    return (columns[start : start + most] for start in range(0, len(columns), most))


def _joined(columns: Iterable[Any]) -> Any:
    import pyarrow as pa

    return pa.concat_arrays(list(columns))


def _plain(column: Any, decimal: str) -> Any:
    """Trimmed text, with decimal points; a point between thousands becomes a mark that no plain number has."""
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)
    if decimal == ".":
        return trimmed
    return compute.replace_substring(compute.replace_substring(trimmed, ".", "_"), decimal, ".")


def _matches(column: Any, pattern: str, of_null: bool = True) -> Any:
    """Whether each text matches; `of_null` for null."""
    from pyarrow import compute

    found = compute.match_substring_regex(column, pattern).fill_null(of_null)
    return found.to_numpy(zero_copy_only=False)


def _too_long(column: Any) -> Any:
    """Which whole numbers do not fit in 64 bits."""
    found = _matches(column, LONG, of_null=False)
    for i in np.flatnonzero(found).tolist():
        text = column[i].as_py()
        found[i] = len(text) > LONGEST_WHOLE or not -(2**63) <= int(text) < 2**63
    return found


def _spelled(text: str | None, decimal: str) -> float | int | str | None:
    """A number; text if it is a code or an identifier, whose digits would get lost."""
    if text is None:
        return None
    word = text.strip()
    if cells.CODE.fullmatch(word) or (len(word) > LONGEST_EXACT and word.lstrip("+-").isdecimal()):
        return word
    value = cells.number(word, decimal)
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
