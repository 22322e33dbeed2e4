"""ARFF files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from driftway.producers.streams import arff_dates, cells
from driftway.producers.streams.arff_text import DATE, NOMINAL, NUMBER, ArffText
from driftway.producers.streams.columns import not_numbers
from driftway.producers.streams.encoding import UTF8, in_words
from driftway.producers.streams.file_options import FileOptions
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Block
from driftway.producers.streams.tables.table import DEFAULT_LABEL, Table
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.json_tokens.text_values import MISSING, as_written
from driftway.worker.wire.schema.paths import LABELS


class ArffTable(Table):
    """An ARFF file, plain or compressed; nominal values are numbers by their index in the declaration.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    options : FileOptions
        What the user says about it.

    Raises
    ------
    UsageFailure
        The file is missing, empty or not ARFF, or two attributes have one name.

    Source
    ------
    Weka's ARFF format; the weights of rows are not used.
    """

    def __init__(self, path: Path, options: FileOptions) -> None:
        self.path, self._encoding = path, options.encoding
        with self._open() as file:
            self._attributes, encoding = file.attributes, file.encoding
            first = next(file.rows(), None)
            weighted = file.weighted
        if first is None:
            raise UsageFailure(f"{path} has a header but no rows")
        self._at = {attribute.name: i for i, attribute in enumerate(self._attributes)}
        self._codes = [{value: float(i) for i, value in enumerate(one.values)} for one in self._attributes]
        """For each nominal attribute: value -> its index in the declaration; empty for others."""
        self.columns = tuple(self._at)
        self.classes = {one.name: one.values for one in self._attributes if one.kind == NOMINAL}
        last = self.columns[-1]
        self.label = last if last in self.classes or DEFAULT_LABEL not in self._at else DEFAULT_LABEL
        self.notes = [] if encoding == UTF8 or options.encoding else [f"its text is read as {in_words(encoding)}"]
        if weighted:
            self.notes.append("the weights of its rows are left out")
        if DEFAULT_LABEL in self._at and self.label != DEFAULT_LABEL:
            about = f"its label is the last attribute, {last!r}; --label {DEFAULT_LABEL} takes the other"
        elif self.label not in self.classes and self.classes:
            other = next(iter(self.classes))
            about = f"its label is {self.label!r}, which is not nominal; --label {other!r} takes another"
        else:
            about = "" if self.label.lower() in LABELS else f"its label is the last attribute, {last!r}"
        self.about_label = about

    def check_numbers(self, features: Sequence[str]) -> None:
        for name in features:
            kind = self._attributes[self._at[name]].kind
            if kind not in (NUMBER, NOMINAL):
                raise UsageFailure(
                    f"{self.path}: feature attribute {name!r} is {kind}; only numeric and nominal attributes can be "
                    f"features{not_numbers(self.path)}"
                )

    def numbers(self, features: Sequence[str], label: str, reader: LabelReader) -> Iterator[Block]:
        indices, label_at = [self._at[name] for name in features], self._at[label]
        codes = self._codes
        for rows in self._chunks():
            X = np.empty((len(rows), len(indices)))
            for i, row in enumerate(rows):
                text = "".join(cell for cell in row if cell is not None)
                try:
                    if cells.not_plain(text):
                        raise ValueError
                    X[i] = [
                        math.nan if (cell := row[j]) is None else codes[j][cell] if codes[j] else float(cell)
                        for j in indices
                    ]
                except (KeyError, ValueError):
                    X[i] = [self._number(j, row[j]) for j in indices]
            yield Block(X, np.array([reader.read(self._declared(label_at, row[label_at])) for row in rows]))

    def values(self, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
        indices = [self._at[name] for name in columns]
        for rows in self._chunks():
            yield [[self._value(j, row[j]) for row in rows] for j in indices]

    def _open(self) -> ArffText:
        return ArffText(self.path, self._encoding)

    def _chunks(self) -> Iterator[list[list[str | None]]]:
        """The rows, in lists of at most BLOCK_ROWS, and of fewer if they are wide."""
        most = max(1, min(BLOCK_ROWS, BLOCK_ROWS * 100 // len(self._attributes)))
        rows: list[list[str | None]] = []
        with self._open() as file:
            for row in file.rows():
                rows.append(row)
                if len(rows) == most:
                    yield rows
                    rows = []
        if rows:
            yield rows

    def _number(self, j: int, cell: str | None) -> float:
        """A cell of attribute j as a number, which may be spelled in another way."""
        if cell is None:
            return math.nan
        if self._codes[j]:
            return self._codes[j][self._declared(j, cell) or ""]
        value = cells.number(cell)
        if math.isnan(value) and cell in MISSING:
            return math.nan
        if math.isnan(value):
            name = self._attributes[j].name
            raise UsageFailure(f"{self.path}: attribute {name!r} holds {cell!r}, which is not a number")
        return value

    def _declared(self, j: int, cell: str | None) -> str | None:
        """The declared value that a cell of attribute j means, if that is nominal; it may be spelled in another way."""
        attribute = self._attributes[j]
        if cell is None or attribute.kind != NOMINAL or cell in self._codes[j]:
            return cell
        try:
            found = LabelReader("", attribute.values, ()).class_of(cell)
        except UsageFailure:
            raise UsageFailure(
                f"{self.path}: attribute {attribute.name!r} holds {cell!r}, which is not one of its declared values"
            ) from None
        return attribute.values[found or 0]

    def _value(self, j: int, cell: str | None) -> Any:
        attribute = self._attributes[j]
        if cell is None:
            return None
        if attribute.kind == DATE:
            return _moment(cell, attribute.form)
        if attribute.kind != NUMBER:
            return self._declared(j, cell)
        if cell.isdecimal() and cell.isascii():
            return as_written(cell)
        value = self._number(j, cell)
        return None if math.isnan(value) else value


def _moment(cell: str, form: str) -> datetime | str:
    """A date, or the text as it is if it does not have the declared form."""
    found = arff_dates.parse(cell, form)
    return cell if found is None else found
