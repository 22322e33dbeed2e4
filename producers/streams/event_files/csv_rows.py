"""Rows of CSV files as JSON objects; a column's type follows from all its values, read before the first row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from driftway.producers.streams.arrow import require_pyarrow
from driftway.producers.streams.columns import kept_columns
from driftway.producers.streams.csv_file import CHUNK_BYTES, read_header
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.labels import MISSING
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import write_rows

INTEGER, FLOAT, BOOLEAN, TEXT = "integer", "float", "boolean", "text"
WHOLE = r"^(?:0|-?[1-9]\d{0,18})$"
LONG = r"^[+-]?\d{19,}$"
"""Numbers that a float would round: identifiers, which stay text unless the whole column fits 64-bit integers."""
NUMBER = r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+|inf|Inf|INF|infinity|Infinity)(?:[eE][+-]?\d+)?$"
"""Excludes codes such as 007, which stay text."""
TRUTH = r"^(?:true|True|TRUE|false|False|FALSE)$"


class CsvRows(EventFile):
    """A CSV file with a header row, plain or gzipped, as flat objects.

    A column of whole numbers becomes integers, one of other numbers floats, one of true and false booleans, and any
    other unchanged text, including times and numbers with leading zeros. Empty cells, ``?``, ``NA`` etc. are null.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    UsageFailure
        The file or its header is missing, or it has no rows or lacks a column to leave out.
    """

    def __init__(self, path: Path, drop: Sequence[str] = ()) -> None:
        self._path = path
        self._arrow = require_pyarrow(str(path))
        self._header = read_header(path)
        self.name = str(path)
        self.columns = kept_columns(path, self._header, drop)

    def chunks(self) -> Iterator[list[bytes]]:
        kinds = self.kinds
        for batch in self._batches():
            columns = [_values(batch.column(name), kinds[name]) for name in kinds]
            yield write_rows(tuple(kinds), columns)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Type of each column; the first access reads the whole file."""
        possible = {name: [INTEGER, FLOAT, BOOLEAN] for name in self.columns or ()}
        for batch in self._batches():
            for name, left in possible.items():
                if left:
                    left[:] = _fitting(batch.column(name), left)
        return {name: left[0] if left else TEXT for name, left in possible.items()}

    def _batches(self) -> Iterator[Any]:
        """Record batches of text, null where a cell is missing."""
        from pyarrow import csv

        pa = self._arrow
        compression = "gzip" if self._path.suffix == ".gz" else None
        try:
            with csv.open_csv(
                pa.input_stream(str(self._path), compression=compression),
                read_options=csv.ReadOptions(use_threads=False, block_size=CHUNK_BYTES),
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(self._header, pa.string()),
                    include_columns=list(self.columns or ()),
                    null_values=list(MISSING),
                    strings_can_be_null=True,
                ),
            ) as batches:
                yield from batches
        except (pa.ArrowException, OSError, EOFError) as error:
            raise UsageFailure(f"cannot read {self._path}: {str(error).splitlines()[0]}") from None


def _fitting(column: Any, kinds: Sequence[str]) -> list[str]:
    """The kinds that fit all values of a text column."""
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)

    def every(pattern: str) -> bool:
        found = compute.all(compute.match_substring_regex(trimmed, pattern)).as_py()
        return found is not False  # None if all are null

    def some(pattern: str) -> bool:
        return compute.any(compute.match_substring_regex(trimmed, pattern)).as_py() is True

    tests = {
        INTEGER: lambda: every(WHOLE) and _held(trimmed),
        FLOAT: lambda: every(NUMBER) and not some(LONG),
        BOOLEAN: lambda: every(TRUTH),
    }
    return [kind for kind in kinds if tests[kind]()]


def _held(column: Any) -> bool:
    """Whether every whole number in a text column fits in 64 bits."""
    import pyarrow as pa

    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def _values(column: Any, kind: str) -> list[Any]:
    """A text column as Python values of its kind, with None for nulls."""
    import pyarrow as pa
    from pyarrow import compute

    if kind == TEXT:
        found: list[Any] = column.to_pylist()
        return found
    trimmed = compute.utf8_trim_whitespace(column)
    if kind == BOOLEAN:
        trimmed = compute.utf8_lower(trimmed)
    types = {INTEGER: pa.int64(), FLOAT: pa.float64(), BOOLEAN: pa.bool_()}
    converted: list[Any] = trimmed.cast(types[kind]).to_pylist()
    return converted
