"""Quotes of CSV files that are never closed: a parser takes all rows behind one for a part of its cell."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from driftway.producers.streams.blanks import BLANK, Utf8File, with_single_blanks
from driftway.producers.streams.compressed import open_binary, open_text
from driftway.producers.streams.csv_dialect import Dialect

CHUNK_BYTES = 1 << 20


def open_quote(path: Path, dialect: Dialect) -> int:
    """The line of the row in whose quotes a file ends; 0 if it ends behind a row.

    Only an odd number of quotes can leave one open, so most files are counted, not parsed. The next one may close it,
    so that rows are joined: quotes that span lines are text if each line has the cells of a row.
    """
    if _count(path, dialect.quote.encode()) % 2 and (line := _last_open_row(path, dialect)):
        return line
    return _text_quote(path, dialect) if dialect.newlines and len(dialect.columns) > 1 else 0


def _last_open_row(path: Path, dialect: Dialect) -> int:
    with io.TextIOWrapper(io.BufferedReader(Utf8File(path, dialect.encoding)), "utf-8", newline="") as file:
        for _ in range(dialect.skipped):
            file.readline()
        return _open_row(file, dialect)


def _text_quote(path: Path, dialect: Dialect) -> int:
    """The first line with an odd number of quotes, if each line has as many cells as a row; else 0."""
    found, separators = 0, len(dialect.columns) - 1
    with open_text(path, dialect.encoding) as file:
        for number, line in enumerate(file, 1):
            if number <= dialect.skipped or not line.strip():
                continue
            if line.count(dialect.separator) != separators:
                return 0
            found = found or number * (line.count(dialect.quote) % 2)
    return found


def _count(path: Path, quote: bytes) -> int:
    with open_binary(path) as file:
        return sum(chunk.count(quote) for chunk in iter(partial(file.read, CHUNK_BYTES), b""))


def _open_row(lines: Iterable[str], dialect: Dialect) -> int:
    """The line in which the last row begins if its quotes are open, else 0."""
    if dialect.separator == BLANK:
        lines = (with_single_blanks(line, dialect.quote) for line in lines)
    reader = csv.reader(
        lines,
        delimiter=dialect.separator,
        quotechar=dialect.quote,
        escapechar=dialect.escape or None,
        skipinitialspace=dialect.blanks_before_quotes,
        strict=True,
    )
    limit, line = csv.field_size_limit(sys.maxsize), 0
    try:
        for _ in reader:
            line = reader.line_num
    except csv.Error as error:  # another one says nothing about the end
        return dialect.skipped + line + 1 if "unexpected end" in str(error) else 0
    finally:
        csv.field_size_limit(limit)
    return 0
