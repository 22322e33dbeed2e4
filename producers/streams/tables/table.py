"""The interface of every file with columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from driftway.producers.streams import cells
from driftway.producers.streams.columns import not_numbers
from driftway.producers.streams.labels import MAX_SHOWN, LabelReader
from driftway.producers.streams.stream import Block
from driftway.producers.streams.times import milliseconds
from driftway.worker.errors import UsageFailure

DEFAULT_LABEL = "y"
"""The label's column, if neither the user nor the format names one."""


class Table(ABC):
    """A file with named columns, read from its first row as often as needed.

    Attributes
    ----------
    path : Path
        The file.
    columns : tuple of str
        Names, in the file's order; no two are the same.
    classes : dict
        Column -> its values in declared order, where the file declares them.
    left_out : frozenset of str
        Further columns of the file, which hold no data.
    decimal : str
        Decimal mark of numbers.
    times : mapping
        Column that may hold times as text -> milliseconds in a unit of its numbers.
    label : str or None
        The column that the file's format makes the label, if nobody names one.
    about_label : str
        Why that column, in words; empty: nobody needs to be told.
    rows : int or None
        Length, if known without reading everything.
    notes : list of str
        What was guessed or left out, in words.
    """

    path: Path
    columns: tuple[str, ...]
    classes: dict[str, tuple[str, ...]]
    left_out: frozenset[str] = frozenset()
    decimal: str = "."
    times: Mapping[str, float] = MappingProxyType({})
    label: str | None = None
    about_label: str = ""
    rows: int | None = None
    notes: list[str]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of what `values` reads; the columns, unless there are too many of them."""
        return self.columns

    def is_plain_form(self) -> bool:
        """Whether the rows are events as workers read them without a schema: the features are a list under ``x``."""
        return False

    def check_numbers(self, features: Sequence[str]) -> None:  # noqa: B027 - CSV knows nothing before
        """Check what is known before the first row is read.

        Raises
        ------
        UsageFailure
            A column cannot be read as numbers.
        """

    def number_in(self, text: str, name: str, words: Collection[str]) -> float:
        """The number that the text of a feature's cell holds; NaN for `words`, which mean missing.

        Raises
        ------
        UsageFailure
            It holds none.
        """
        if text.strip() in words:
            return math.nan
        value = cells.number(text, self.decimal)
        if math.isnan(value) and name in self.times:
            value = milliseconds(text) / self.times[name]
        if math.isnan(value):
            if text.strip() == name:
                why = "not a number: it is the column's name, so the file has a second header"
            elif name in self.times:
                why = "neither a number nor a time in ISO 8601"
            else:
                why = f"not a number{not_numbers(self.path)}"
            raise UsageFailure(f"{self.path}: feature column {name!r} holds {text[:MAX_SHOWN]!r}, which is {why}")
        return value

    def keep_json(self) -> None:  # noqa: B027 - text has nothing else
        """Leave out the columns whose values JSON does not have, with a note for each.

        Raises
        ------
        UsageFailure
            No column is left.
        """

    @abstractmethod
    def numbers(self, features: Sequence[str], label: str, reader: LabelReader) -> Iterator[Block]:
        """Read columns as numbers, in blocks of any size.

        Parameters
        ----------
        features : sequence of str
            The columns of X.
        label : str
            The column of y.
        reader : LabelReader
            Reads its texts.

        Raises
        ------
        UsageFailure
            The file cannot be read, or a cell is no number or none of the labels.
        """

    @abstractmethod
    def values(self, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
        """Read fields as values that JSON has, in blocks of any size: a list for each field, None where missing.

        Raises
        ------
        UsageFailure
            The file cannot be read, or JSON does not have a column's values.
        """
