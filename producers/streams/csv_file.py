"""CSV files with a header row, read in blocks by pyarrow; column types are fixed before the first row."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from driftway.producers.streams.arrow import require_pyarrow, to_block
from driftway.producers.streams.columns import feature_columns, not_numbers, some_of
from driftway.producers.streams.labels import MISSING, LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Stream, reblock
from driftway.worker.errors import UsageFailure

CHUNK_BYTES = 1 << 20
"""Bytes of text per parsed chunk, 1 MiB: pyarrow's default; it bounds the reader's memory."""

CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?.*invalid value '(.*)'", re.DOTALL)


class CsvFile(Stream):
    """A CSV file, plain or gzipped: every column but the label is a feature.

    Numbers are read with pyarrow's correctly rounded parser, so they equal Python's ``float(text)``. Empty
    cells, ``?``, ``NA`` and similar texts are missing values.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``.
    label : str
        The label's column.
    labels : sequence of str or None
        Class names in index order.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    UsageFailure
        The file, its header or its label column is missing, or it has no rows.

    Source
    ------
    RFC 4180, with a header row.
    """

    def __init__(
        self, path: Path, label: str = "y", labels: Sequence[str] | None = None, drop: Sequence[str] = ()
    ) -> None:
        self._path = path
        self._arrow = require_pyarrow(str(path))
        self._columns = read_header(path)
        if label not in self._columns:
            columns = some_of(self._columns)
            raise UsageFailure(f"{path} has no label column {label!r}; name it with --label; columns: {columns}")
        self.name = str(path)
        self.feature_names = feature_columns(path, self._columns, label, drop)
        self.label_name = label
        self.labels = None if labels is None else tuple(labels)
        self.task = None if labels is None else "classification"
        self.source = f"file {path.name}"

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        return reblock(self._chunks(), size)

    def _chunks(self) -> Iterator[Block]:
        reader = LabelReader(f"{self._path}: label column {self.label_name!r}", self.labels)
        try:
            with self._open() as batches:
                for batch in batches:
                    yield to_block(batch, self.feature_names, self.label_name, reader)
        except (self._arrow.ArrowException, OSError, EOFError) as error:
            raise UsageFailure(self._explain(str(error))) from None

    def _open(self) -> Any:
        from pyarrow import csv as arrow_csv

        pa = self._arrow
        types = dict.fromkeys(self.feature_names, pa.float64())
        # Without class names a label is a number; reading it as one avoids strings.
        types[self.label_name] = pa.float64() if self.labels is None else pa.string()
        missing = [text for text in MISSING if text not in (self.labels or ())]
        compression = "gzip" if self._path.suffix == ".gz" else None
        return arrow_csv.open_csv(
            pa.input_stream(str(self._path), compression=compression),
            # One thread: the other cores are left to the broker, and errors keep their row numbers.
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=CHUNK_BYTES),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=False),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=missing, strings_can_be_null=True
            ),
        )

    def _explain(self, message: str) -> str:
        found = CONVERSION.search(message)
        if found is None:
            return f"cannot read {self._path}: {message.splitlines()[0] if message else 'damaged'}"
        column, value = self._columns[int(found[1])], found[2]
        if column == self.label_name:
            return (
                f"{self._path}: label column {column!r} holds {value!r}, which is not a number: name the "
                "classes in order, --labels A,B"
            )
        return (
            f"{self._path}: feature column {column!r} holds {value!r}, which is not a number{not_numbers(self._path)}"
        )


def read_header(path: Path) -> list[str]:
    """Column names from the first line that is not blank; also checks that a row follows."""
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if path.suffix == ".gz"
            else open(path, encoding="utf-8-sig", newline="")
        ) as file:
            lines = (line for line in csv.reader(file) if line)
            header = next(lines, None)
            if header is None:
                raise UsageFailure(f"{path} is empty")
            check_header(path, header)
            if next(lines, None) is None:
                raise UsageFailure(f"{path} has a header but no rows")
            return header
    except OSError as error:
        raise UsageFailure(f"cannot read {path}: {error.strerror or error}") from None
    except (EOFError, UnicodeDecodeError, csv.Error) as error:
        raise UsageFailure(f"cannot read {path}: {error}") from None


def check_header(path: Path, header: Sequence[str]) -> None:
    """Check that a file's first line names its columns.

    Raises
    ------
    UsageFailure
        It is all numbers, or has a name twice.
    """
    if all(_is_number(cell) for cell in header):
        raise UsageFailure(f"{path} has no header row: its first line is all numbers")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UsageFailure(f"{path} has two columns named {twice[0]!r}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
