"""Rows of ARFF files as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from driftway.producers.streams.arff_file import ArffText, data_lines, read_cells, read_header
from driftway.producers.streams.columns import kept_columns
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.stream import BLOCK_ROWS
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import exact_number, write_rows

LARGEST = (1 << 64) - 1
"""Largest integer of orjson."""


class ArffRows(EventFile):
    """An ARFF file, plain or gzipped, as flat objects: numbers for numeric attributes, text for all others.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``.
    drop : sequence of str
        Attributes to leave out.

    Raises
    ------
    UsageFailure
        The file is missing, empty or sparse, or lacks an attribute to leave out.
    """

    def __init__(self, path: Path, drop: Sequence[str] = ()) -> None:
        self._path = path
        with ArffText(path) as file:
            self._attributes = read_header(path, file)
            if next(data_lines(file), None) is None:
                raise UsageFailure(f"{path} has a header but no rows")
        self.name = str(path)
        self.columns = kept_columns(path, [attribute.name for attribute in self._attributes], drop)

    def chunks(self) -> Iterator[list[bytes]]:
        rows: list[list[Any]] = []
        with ArffText(self._path) as file:
            read_header(self._path, file)
            for line in data_lines(file):
                rows.append(self._row(line))
                if len(rows) == BLOCK_ROWS:
                    yield self._written(rows)
                    rows = []
        if rows:
            yield self._written(rows)

    def _row(self, line: str) -> list[Any]:
        pairs = zip(self._attributes, read_cells(self._path, line, len(self._attributes)), strict=True)
        return [self._value(one.name, one.kind, cell) for one, cell in pairs if one.name in (self.columns or ())]

    def _value(self, name: str, kind: str, cell: str) -> Any:
        if cell == "?":
            return None
        if kind != "number":
            return cell
        try:
            if not (cell.isdecimal() and cell.isascii()):
                return float(cell)
            return int(cell) if int(cell) <= LARGEST else exact_number(Decimal(cell))
        except ValueError:
            raise UsageFailure(f"{self._path}: attribute {name!r} holds {cell!r}, which is not a number") from None

    def _written(self, rows: list[list[Any]]) -> list[bytes]:
        return write_rows(self.columns or (), list(zip(*rows, strict=True)))
