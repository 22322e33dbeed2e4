"""The rows of any file as a topic would have them: JSON text, with text columns, and whatever the lines of JSON hold.

Text, rather than objects, so that there is one way from a row to its features, a file's or a topic's.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from producers.streams.arrow import require_pyarrow
from producers.streams.csv_file import check_header
from producers.streams.labels import MISSING
from producers.streams.parquet_file import open_parquet
from producers.streams.stream import BLOCK_ROWS
from worker.errors import UsageFailure

LINES = (".jsonl", ".ndjson", ".json")
ROW_SUFFIXES = (*LINES, ".csv", ".parquet")
"""Each also with .gz behind it."""


def open_rows(name: str) -> Iterator[bytes] | None:
    """The rows of a file, one by one; None: no file is meant.

    Parameters
    ----------
    name : str
        A file's path: one that exists, that has a folder in it, or that ends in one of `ROW_SUFFIXES`.

    Raises
    ------
    UsageFailure
        The file is not there, or cannot be read as what its suffix says.
    """
    path = Path(name)
    suffix = Path(name.removesuffix(".gz")).suffix
    if not path.is_file():
        if os.sep in name or suffix in ROW_SUFFIXES:
            raise UsageFailure(f"there is no file {name}")
        return None
    if suffix in LINES:
        return _lines(path)
    if suffix == ".csv":
        return _csv_rows(path)
    if suffix == ".parquet":
        return _parquet_rows(path)
    raise UsageFailure(f"cannot tell the format of {name}: it must end in {', '.join(ROW_SUFFIXES)}, each also .gz")


def _lines(path: Path) -> Iterator[bytes]:
    """What stands on each line that is not blank."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            yield from (line.strip() for line in file if line.strip())
    except (OSError, EOFError) as error:
        raise UsageFailure(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _csv_rows(path: Path) -> Iterator[bytes]:
    """Cells stay text; those that stand for a missing value, as everywhere, are null."""
    try:
        with _text(path) as file:
            lines = csv.reader(file)
            header = next((cells for cells in lines if cells), None)
            if header is None:
                raise UsageFailure(f"{path} is empty")
            check_header(path, header)
            for cells in lines:
                if cells and len(cells) != len(header):
                    raise UsageFailure(f"{path}, line {lines.line_num}: {len(cells)} cells, not {len(header)}")
                if cells:
                    row = {name: None if cell in MISSING else cell for name, cell in zip(header, cells, strict=True)}
                    yield json.dumps(row).encode()
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise UsageFailure(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _parquet_rows(path: Path) -> Iterator[bytes]:
    pa = require_pyarrow(str(path))
    with open_parquet(path) as file:
        try:
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, use_threads=False):
                for row in _in_micros(batch, pa).to_pylist():
                    yield json.dumps(_plain(row)).encode()
        except (pa.ArrowException, OSError) as error:
            raise UsageFailure(f"cannot read {path}: {error}") from None


def _in_micros(batch: Any, pa: Any) -> Any:
    """A batch without times in ns, which Python's own have no room for."""
    for at, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            times = batch.column(at).cast(pa.timestamp("us", column.type.tz), safe=False)
            batch = batch.set_column(at, column.name, times)
    return batch


def _plain(value: Any) -> Any:
    """What JSON has for a value: NaN is null, times are ISO 8601."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return _plain(float(value))
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return None if isinstance(value, float) and not math.isfinite(value) else value
