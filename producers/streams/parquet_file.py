"""Parquet files, read in blocks by pyarrow."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftway.producers.streams.arrow import is_number, is_text, require_pyarrow, to_block
from driftway.producers.streams.columns import feature_columns, not_numbers, some_of
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Stream, reblock
from driftway.worker.errors import UsageFailure


class ParquetFile(Stream):
    """A Parquet file, plain or gzipped as a whole: every column but the label is a feature.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``, and then unpacked into a temporary file to be read.
    label : str
        The label's column.
    labels : sequence of str or None
        Class names in index order.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    UsageFailure
        The file is missing, damaged or empty, has no label column, or a feature column is not numeric.

    Source
    ------
    Apache Parquet format.
    """

    def __init__(
        self, path: Path, label: str = "y", labels: Sequence[str] | None = None, drop: Sequence[str] = ()
    ) -> None:
        self._path = path
        self._arrow = require_pyarrow(str(path))
        with open_parquet(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        if label not in schema.names:
            columns = some_of(schema.names)
            raise UsageFailure(f"{path} has no label column {label!r}; name it with --label; columns: {columns}")
        if rows == 0:
            raise UsageFailure(f"{path} has no rows")
        self.feature_names = feature_columns(path, schema.names, label, drop)
        for column in self.feature_names:
            if not is_number(schema.field(column).type):
                held = schema.field(column).type
                raise UsageFailure(f"{path}: feature column {column!r} holds {held}, not numbers{not_numbers(path)}")
        kind = schema.field(label).type
        if not is_number(kind) and not is_text(kind):
            raise UsageFailure(f"{path}: label column {label!r} holds {kind}, neither numbers nor text")
        self._label_as_text = labels is not None
        self.name = str(path)
        self.label_name = label
        self.labels = None if labels is None else tuple(labels)
        self.rows = rows
        self.task = None if labels is None else "classification"
        self.source = f"file {path.name}"

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        return reblock(self._chunks(), size)

    def _chunks(self) -> Iterator[Block]:
        pa = self._arrow
        reader = LabelReader(f"{self._path}: label column {self.label_name!r}", self.labels)
        columns = [*self.feature_names, self.label_name]
        with open_parquet(self._path) as file:
            try:
                for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=columns, use_threads=False):
                    at = batch.schema.get_field_index(self.label_name)
                    if self._label_as_text and not is_text(batch.schema.field(at).type):
                        text = batch.column(at).cast(pa.string())
                        batch = batch.set_column(at, self.label_name, text)  # noqa: PLW2901
                    yield to_block(batch, self.feature_names, self.label_name, reader)
            except (pa.ArrowException, OSError) as error:
                raise UsageFailure(f"cannot read {self._path}: {error}") from None


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a file as pyarrow's ParquetFile; it is gzipped as a whole if its name ends in ``.gz``.

    Raises
    ------
    UsageFailure
        It cannot be read.
    """
    pa = require_pyarrow(str(path))
    from pyarrow import parquet

    try:
        with tempfile.TemporaryFile() as unpacked:
            source: Any = str(path)
            if path.suffix == ".gz":
                # Parquet is read from its end and gzip from its start, so an unpacked copy is needed.
                with gzip.open(path) as packed:
                    shutil.copyfileobj(packed, unpacked)
                source = unpacked
            elif path.stat().st_size == 0:
                raise UsageFailure(f"{path} is empty")
            with parquet.ParquetFile(source) as file:
                yield file
    except pa.ArrowInvalid as error:
        raise UsageFailure(f"cannot read {path}: {str(error).splitlines()[0]}") from None
    except (OSError, EOFError) as error:
        raise UsageFailure(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
