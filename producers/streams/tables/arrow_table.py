"""Parquet and Arrow files, read by pyarrow."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from driftway.producers.streams.arrow import coded, is_number, is_text, read_labels, require_pyarrow, to_floats
from driftway.producers.streams.cells import MissingWords
from driftway.producers.streams.columns import not_numbers, require_distinct
from driftway.producers.streams.compressed import UNREADABLE, cannot_read
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block
from driftway.producers.streams.tables.arrow_values import is_json, values_of
from driftway.producers.streams.tables.table import Table
from driftway.producers.streams.times import column_milliseconds, is_time
from driftway.worker.errors import UsageFailure

ARROW = (".arrow", ".feather")
FILE_MAGIC, FEATHER_1 = b"ARROW1", b"FEA1"
"""First bytes of Arrow's IPC file format, and of what was called Feather before; the stream format has none."""
FEATURES, PLAIN_FIELDS = "x", {"x", "y", "id", "t"}
"""Fields of events in the plain form."""
INDEXES = ("__index_level_", "Unnamed: 0")
"""What pandas calls the column of an index that has no name, when it writes one, and when it has read one from CSV."""


class ArrowTable(Table):
    """A Parquet or Arrow file; the index of a pandas data frame is left out.

    Parameters
    ----------
    path : Path
        The file. Parquet may be gzipped as a whole (``.gz``), and is then unpacked into a temporary file.
    missing : MissingWords
        Words for missing values in columns of text.

    Raises
    ------
    UsageFailure
        The file is missing, damaged or empty, or has two columns of one name.

    Source
    ------
    Apache Parquet; Arrow's IPC file format, which Feather is, and stream format.
    """

    def __init__(self, path: Path, missing: MissingWords) -> None:
        self._arrow = require_pyarrow(str(path))
        self.path, self._missing = path, missing
        with _opened(path) as file:
            self._schema, self.rows = file.schema, file.rows
        if self.rows == 0:
            raise UsageFailure(f"{path} has no rows")
        names = self._schema.names
        require_distinct(path, names)
        index = [name for name in _pandas_index(self._schema) if name in names and len(names) > 1]
        self.left_out = frozenset(index)
        self.columns = tuple(name for name in names if name not in self.left_out)
        self.classes = {}
        self.notes = [f"the index of the data frame, {name!r}, is left out" for name in index]

    def is_plain_form(self) -> bool:
        from pyarrow import types

        if FEATURES not in self.columns or not set(self.columns) <= PLAIN_FIELDS:
            return False
        kind = self._schema.field(FEATURES).type
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    def check_numbers(self, features: Sequence[str]) -> None:
        for name in features:
            kind = self._schema.field(name).type
            if not is_number(kind) and not is_text(kind) and not (name in self.times and is_time(kind)):
                raise UsageFailure(
                    f"{self.path}: feature column {name!r} holds {kind}, not numbers{not_numbers(self.path)}"
                )

    def numbers(self, features: Sequence[str], label: str, reader: LabelReader) -> Iterator[Block]:
        kind = self._schema.field(label).type
        if not is_number(kind) and not is_text(kind):
            raise UsageFailure(f"{self.path}: label column {label!r} holds {kind}, neither numbers nor text")
        for batch in self._batches([*features, label]):
            X = np.empty((batch.num_rows, len(features)))
            for i, name in enumerate(features):
                X[:, i] = self._as_numbers(batch.column(i), name)
            yield Block(X, read_labels(batch.column(len(features)), reader))

    def keep_json(self) -> None:
        others = [name for name in self.columns if not is_json(self._schema.field(name).type)]
        self.left_out |= frozenset(others)
        self.columns = tuple(name for name in self.columns if name not in self.left_out)
        self.notes += [
            f"its column {name!r} is left out: it holds {self._schema.field(name).type}, which JSON does not have"
            for name in others
        ]
        if not self.columns:
            raise UsageFailure(f"{self.path} has no column whose values JSON has")

    def values(self, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
        for name in columns:
            if not is_json(kind := self._schema.field(name).type):
                raise UsageFailure(
                    f"{self.path}: column {name!r} holds {kind}, which JSON does not have: --drop {name}"
                )
        for batch in self._batches(columns):
            yield [values_of(batch.column(i)) for i in range(len(columns))]

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        try:
            with _opened(self.path) as file:
                yield from file.batches(list(columns))
        except (self._arrow.ArrowException, ValueError, *UNREADABLE) as error:
            raise cannot_read(self.path, error) from None

    def _as_numbers(self, column: Any, name: str) -> Array:
        if is_time(column.type):
            return column_milliseconds(column) / self.times[name]
        if not is_text(column.type):
            return to_floats(column)
        words = self._missing.of(name, among_numbers=True)
        return coded(column, lambda text: self.number_in(text, name, words))


def _pandas_index(schema: Any) -> list[str]:
    """The columns that hold the index of a data frame: those that pandas wrote down as such, and its own names."""
    written = (schema.metadata or {}).get(b"pandas")
    try:
        found = [] if written is None else json.loads(written)["index_columns"]
        named = [name for name in found if isinstance(name, str)]
    except (ValueError, KeyError, TypeError):
        named = []
    return [*named, *(name for name in schema.names if name.startswith(INDEXES) and name not in named)]


class _ParquetReader:
    """A Parquet file that is open."""

    def __init__(self, source: Any) -> None:
        from pyarrow import parquet

        # Nanoseconds since 1970, the default, hold the years 1678 to 2262 only, and wrap around.
        self._file = parquet.ParquetFile(source, coerce_int96_timestamp_unit="us")
        self.schema, self.rows = self._file.schema_arrow, self._file.metadata.num_rows

    def batches(self, columns: list[str]) -> Iterator[Any]:
        for batch in self._file.iter_batches(batch_size=BLOCK_ROWS, columns=columns, use_threads=False):
            yield batch.select(columns)


class _ArrowStreamReader:
    """A file in Arrow's IPC stream format that is open: it has no table of contents, so it is read once to count."""

    def __init__(self, source: Any) -> None:
        from pyarrow import ipc

        self._source = source
        with ipc.open_stream(source) as reader:
            self.schema = reader.schema
            self.rows = sum(batch.num_rows for batch in reader)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        from pyarrow import ipc

        self._source.seek(0)
        with ipc.open_stream(self._source) as reader:
            for batch in reader:
                yield from _checked(batch.select(columns))


class _ArrowReader:
    """A file in Arrow's IPC file format that is open."""

    def __init__(self, source: Any) -> None:
        from pyarrow import ipc

        self._file = ipc.open_file(source)
        self.schema = self._file.schema
        self.rows = sum(self._file.get_batch(i).num_rows for i in range(self._file.num_record_batches))

    def batches(self, columns: list[str]) -> Iterator[Any]:
        for i in range(self._file.num_record_batches):
            yield from _checked(self._file.get_batch(i).select(columns))


def _checked(batch: Any) -> Iterator[Any]:
    """A batch in parts; its bytes are used as they stand, and offsets that are wrong would crash."""
    batch.validate(full=True)
    for start in range(0, batch.num_rows, BLOCK_ROWS):
        yield batch.slice(start, BLOCK_ROWS)


def _arrow_reader(path: Path) -> _ArrowReader | _ArrowStreamReader:
    """Open a file of Arrow by its first bytes."""
    import pyarrow as pa

    source = pa.memory_map(str(path))
    first = source.read(len(FILE_MAGIC))
    source.seek(0)
    if first.startswith(FEATHER_1):
        raise UsageFailure(f"{path} is in version 1 of Feather, which pyarrow gives up: write it again as Parquet")
    return _ArrowReader(source) if first == FILE_MAGIC else _ArrowStreamReader(source)


@contextmanager
def _opened(path: Path) -> Iterator[_ParquetReader | _ArrowReader | _ArrowStreamReader]:
    """Open a file.

    Raises
    ------
    UsageFailure
        It cannot be read.
    """
    pa = require_pyarrow(str(path))
    try:
        with tempfile.TemporaryFile() as unpacked:
            source: Any = str(path)
            if path.suffix.lower() == ".gz":
                # Parquet is read from its end and gzip from its start, so an unpacked copy is needed.
                with gzip.open(path) as packed:
                    shutil.copyfileobj(packed, unpacked)
                source = unpacked
            elif path.stat().st_size == 0:
                raise UsageFailure(f"{path} is empty")
            yield _arrow_reader(path) if path.suffix.lower() in ARROW else _ParquetReader(source)
    except (pa.ArrowException, *UNREADABLE) as error:
        raise cannot_read(path, error) from None
