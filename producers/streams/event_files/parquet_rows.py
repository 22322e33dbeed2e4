"""Rows of Parquet files as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from driftway.producers.streams.arrow import require_pyarrow
from driftway.producers.streams.columns import kept_columns
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.parquet_file import open_parquet
from driftway.producers.streams.stream import BLOCK_ROWS
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import exact_number, write_rows

EXACT_DIGITS = 15
"""Decimals of up to so many digits are the shortest text of their float64; longer ones keep their own."""


class ParquetRows(EventFile):
    """A Parquet file, plain or gzipped as a whole, as objects of its columns; times are ISO 8601 in microseconds.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    UsageFailure
        The file is missing, damaged or empty, has a column that JSON cannot hold, or lacks a column to leave out.
    """

    def __init__(self, path: Path, drop: Sequence[str] = ()) -> None:
        self._path = path
        self._arrow = require_pyarrow(str(path))
        with open_parquet(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        if rows == 0:
            raise UsageFailure(f"{path} has no rows")
        self.name, self.rows = str(path), rows
        self.columns = kept_columns(path, schema.names, drop)
        for column in self.columns:
            if not _is_json(schema.field(column).type):
                kind = schema.field(column).type
                raise UsageFailure(f"{path}: column {column!r} holds {kind}, which JSON does not have: --drop {column}")

    def chunks(self) -> Iterator[list[bytes]]:
        names = self.columns or ()
        try:
            with open_parquet(self._path) as file:
                for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=list(names), use_threads=False):
                    yield write_rows(names, [_values(batch.column(name)) for name in names])
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise UsageFailure(f"cannot read {self._path}: {str(error).splitlines()[0]}") from None


def _is_json(kind: Any) -> bool:
    """Whether `_values` converts an arrow type to values that JSON can hold."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_json(kind.value_type)
    if types.is_struct(kind):
        return all(_is_json(kind.field(i).type) for i in range(kind.num_fields))
    return not any(
        test(kind)
        for test in (
            types.is_binary,
            types.is_large_binary,
            types.is_fixed_size_binary,
            types.is_duration,
            types.is_map,
        )
    )


def _values(column: Any) -> list[Any]:
    """An arrow array as Python values: decimals and half floats become numbers, times are cut to microseconds."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_decimal(kind) and kind.precision > EXACT_DIGITS:
        return [None if one is None else exact_number(one) for one in column.to_pylist()]
    if types.is_decimal(kind) or types.is_float16(kind):
        column = column.cast(pa.float64())
    elif types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    elif types.is_time64(kind):
        column = column.cast(pa.time64("us"), safe=False)
    found: list[Any] = column.to_pylist()
    return found
