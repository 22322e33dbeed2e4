"""CSV files, parsed by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftway.producers.streams.arrow import coded, read_labels, require_pyarrow, to_floats, wait_until_released
from driftway.producers.streams.blanks import (
    BLANK,
    ChangedFile,
    Utf8File,
    with_single_blanks,
    without_blanks_before_quotes,
    without_null_cells,
)
from driftway.producers.streams.cells import MissingWords
from driftway.producers.streams.compressed import COMPRESSIONS, ONLY_HERE, UNREADABLE, open_binary
from driftway.producers.streams.csv_dialect import COMMENT, dialect_of
from driftway.producers.streams.encoding import UTF8, in_words
from driftway.producers.streams.file_options import FileOptions
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.open_quotes import open_quote
from driftway.producers.streams.stream import Array, Block
from driftway.producers.streams.tables import csv_kinds
from driftway.producers.streams.tables.table import Table
from driftway.worker.errors import UsageFailure

BLOCK_BYTES, WIDE_BLOCK_BYTES, MAX_BLOCK_BYTES = 1 << 20, 1 << 25, 1 << 30
"""Bytes of text that are parsed together, pyarrow's default: they bound the reader's memory. More for long lines, since
each column costs some work per block, and still more if a single line is longer."""
ROWS_TOGETHER = 256
END_OF_FILE = "\x1a"
"""What DOS wrote at the end of a text."""
MAX_RESTARTS = 4
"""So many columns turn out one by one not to be plain numbers; then none is assumed to be."""
CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?.*invalid value '(.*)'", re.DOTALL)


class CsvTable(Table):
    """A CSV file, plain or compressed.

    A column of numbers is parsed by pyarrow, rounded correctly, as Python's ``float`` is. From the first cell on that
    is not a plain number, the column is read as text, and each cell by `driftway.producers.streams.cells`.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    options : FileOptions
        What the user says about it.
    missing : MissingWords
        Words for missing values.

    Raises
    ------
    UsageFailure
        The file is missing, or has no rows or two columns of one name.

    Source
    ------
    RFC 4180, and what spreadsheets and data frames write instead.
    """

    def __init__(self, path: Path, options: FileOptions, missing: MissingWords) -> None:
        self._arrow = require_pyarrow(str(path))
        self.path, self._missing = path, missing
        self._dialect = dialect_of(path, options)
        self.left_out = self._dialect.left_out
        self.columns = tuple(name for name in self._dialect.columns if name not in self.left_out)
        self.decimal = self._dialect.decimal
        self.classes, self.notes = {}, list(self._dialect.notes)
        self._newlines, self._quotes_closed = self._dialect.newlines, False
        self._block_bytes = max(BLOCK_BYTES, min(self._dialect.line_bytes * ROWS_TOGETHER, WIDE_BLOCK_BYTES))
        self._texts = set[str]()
        """Columns of numbers with a cell that is not a plain number."""
        self._known: tuple[tuple[str, ...], list[str]] | None = None
        """Columns and their kinds."""
        self.refused: Any = None
        """The last row with a wrong number of cells."""

    def numbers(self, features: Sequence[str], label: str, reader: LabelReader) -> Iterator[Block]:
        columns = [*features, label]
        plain = features if reader.labels is not None else columns
        # An open quote makes a cell of the last column that is no number and no class.
        for batch in self._batches(columns, plain, last_is_read=self._dialect.columns[-1] in columns):
            texts = [i for i, name in enumerate(features) if name in self._texts]
            if texts or len(features) != batch.num_columns - 1:
                X = np.empty((batch.num_rows, len(features)))
                for i, name in enumerate(features):
                    X[:, i] = self._as_numbers(batch.column(i), name)
            else:
                tensor = batch.select(range(len(features))).to_tensor(null_to_nan=True, row_major=True)
                X = tensor.to_numpy()
            y = batch.column(len(features))
            yield Block(X, read_labels(y, reader))

    def values(self, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
        kinds = self._kinds(tuple(columns))
        for batch in self._batches(columns, ()):
            yield csv_kinds.values(self._cells(batch, columns), kinds, self.decimal)

    def _kinds(self, columns: tuple[str, ...]) -> list[str]:
        """Kind of each column, for which the file is read once in full."""
        if self._known is not None and self._known[0] == columns:
            return self._known[1]
        usual, kept = self._missing.of("", among_numbers=True), self._missing.kept
        own = {i: self._missing.of(name, among_numbers=True) for i, name in enumerate(columns) if name in kept}
        kinds = csv_kinds.ColumnKinds(len(columns), self.decimal, lambda i: own.get(i, usual))
        for batch in self._batches(columns, ()):
            kinds.add(self._cells(batch, columns))
        self._known = columns, kinds.found()
        return self._known[1]

    def _batches(self, columns: Sequence[str], numbers: Collection[str], last_is_read: bool = False) -> Iterator[Any]:
        """Record batches of text, and of f8 for `numbers` that are plain ones.

        What was assumed about the file may turn out to be wrong on the way. Then it is read again from its start, and
        the rows that were yielded already are skipped.
        """
        given = 0
        while True:
            seen = 0
            try:
                for batch in self._open(columns, [name for name in numbers if name not in self._texts]):
                    rest = batch.slice(given - seen) if seen < given else batch
                    seen += batch.num_rows
                    if rest.num_rows:
                        given = seen
                        yield rest
                if not last_is_read or self._dialect.newlines:
                    self._require_closed_quotes()
                return
            except self._arrow.ArrowInvalid as error:
                if not self._learned_from(str(error)):
                    raise UsageFailure(self._explained(str(error))) from None
            except (self._arrow.ArrowException, LookupError, *UNREADABLE) as error:
                raise UsageFailure(self._explained(str(error))) from None

    def _require_closed_quotes(self) -> None:
        """Raise `UsageFailure` if a quote is never closed, so that its cell holds the rows behind it."""
        if not self._quotes_closed and (line := open_quote(self.path, self._dialect)):
            raise UsageFailure(
                f"{self.path}: the quote in line {line} is never closed, so all that follows would be one cell: close "
                "or remove it"
            )
        self._quotes_closed = True

    def _learned_from(self, message: str) -> bool:
        """Assume something else about the file, which an error contradicts; return whether there is anything left."""
        found = CONVERSION.search(message)
        if found is not None and (name := self._dialect.columns[int(found[1])]) not in self._texts:
            self._texts.update({name} if len(self._texts) < MAX_RESTARTS else self.columns)
        elif "straddl" in message or "block size" in message:
            self._require_closed_quotes()
            self._block_bytes *= 4
            return self._block_bytes <= MAX_BLOCK_BYTES
        elif not self._newlines and found is None:
            self._newlines, self.refused = True, None
        else:
            return False
        return True

    def _explained(self, message: str) -> str:
        refused = self.refused
        if refused is not None:
            text = refused.text if len(refused.text) <= 60 else f"{refused.text[:60]}.."
            return (
                f"{self.path}: a row has {refused.actual_columns} of {refused.expected_columns} cells: {text!r}; if it "
                "is not a row, remove it"
            )
        if "invalid UTF8" in message or "codec can't decode" in message:
            encoding = in_words(self._dialect.encoding)
            return f"{self.path} is not {encoding} in all of its rows: name its encoding with --encoding"
        return f"cannot read {self.path}: {message.splitlines()[0] if message else 'damaged'}"

    def _open(self, columns: Sequence[str], numbers: Collection[str]) -> Iterator[Any]:
        from pyarrow import csv

        pa, dialect = self._arrow, self._dialect
        plain = set(numbers)
        types = {name: pa.float64() if name in plain else pa.string() for name in columns}
        held: list[Any] = [_RefusedRows(self)]  # what the parser's threads hold of Python; no other name may hold it
        if dialect.separator == BLANK:
            held.append(ChangedFile(self.path, dialect.encoding, partial(with_single_blanks, quote=dialect.quote)))
        elif dialect.blanks_before_quotes:
            how = {"separator": dialect.separator, "quote": dialect.quote, "escape": dialect.escape}
            change = partial(without_blanks_before_quotes, **how)
            held.append(ChangedFile(self.path, dialect.encoding, change))
        elif dialect.escape:
            change = partial(without_null_cells, separator=dialect.separator)
            held.append(ChangedFile(self.path, dialect.encoding, change, newline=""))
        elif dialect.encoding not in (UTF8, "utf8", "utf-8"):
            held.append(Utf8File(self.path, dialect.encoding))
        elif self.path.suffix.lower() in ONLY_HERE:
            held.append(open_binary(self.path))
        batches = None
        try:
            batches = csv.open_csv(
                held[1]
                if len(held) > 1
                else pa.input_stream(str(self.path), compression=COMPRESSIONS.get(self.path.suffix.lower())),
                # One thread: the other cores are left to the broker, and errors keep their row numbers.
                read_options=csv.ReadOptions(
                    use_threads=False, block_size=self._block_bytes,
                    column_names=list(dialect.columns), skip_rows=dialect.skipped,
                ),
                parse_options=csv.ParseOptions(
                    delimiter=dialect.separator, quote_char=dialect.quote, escape_char=dialect.escape or False,
                    newlines_in_values=self._newlines,
                    invalid_row_handler=held[0],
                ),
                convert_options=csv.ConvertOptions(
                    column_types=types, include_columns=list(columns), decimal_point=dialect.decimal,
                    null_values=self._missing.everywhere(), strings_can_be_null=True,
                ),
            )  # fmt: skip
            yield from batches
        finally:
            if batches is not None:
                batches.close()
            batches = None
            wait_until_released(held)

    def _as_numbers(self, column: Any, name: str) -> Array:
        """A column as f8[n]; NaN where missing."""
        if not self._arrow.types.is_string(column.type):
            return to_floats(column)
        words = self._missing.of(name, among_numbers=True)
        found: Array
        found, rest = csv_kinds.plain_numbers(column, self.decimal)
        if len(rest):
            found[rest] = coded(column.take(self._arrow.array(rest)), lambda text: self.number_in(text, name, words))
        return found

    def _cells(self, batch: Any, columns: Sequence[str]) -> list[Any]:
        """Columns of text, null where missing."""
        from pyarrow import compute

        found = list(batch.columns)
        everywhere = frozenset(self._missing.everywhere())
        if self._dialect.blanks:
            found = [compute.utf8_trim_whitespace(column) for column in found]
            everywhere = frozenset()  # to the parser, blanks are a part of each word
        # Words that are values in some column are no null values for the parser.
        kept = {word for words in self._missing.kept.values() for word in words}
        if self._dialect.blanks or kept & self._missing.of("") - everywhere:
            for i, name in enumerate(columns):
                more = self._arrow.array(sorted(self._missing.of(name) - everywhere), self._arrow.string())
                if len(more):
                    found[i] = compute.if_else(compute.is_in(found[i], more), None, found[i])
        return found


class _RefusedRows:
    """What pyarrow calls for a row with a wrong number of cells: comments and blank lines are left out."""

    def __init__(self, table: CsvTable) -> None:
        self._table = table

    def __call__(self, row: Any) -> str:
        text = row.text.strip().strip(END_OF_FILE)
        if not text or text.startswith(COMMENT):
            return "skip"
        self._table.refused = row
        return "error"
