"""The dialect of a CSV file: its separator, decimal mark, header and comments, detected from its first rows.

RFC 4180 leaves all of it open, and spreadsheets choose by language.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftway.producers.streams import cells
from driftway.producers.streams.blanks import BLANK, with_single_blanks
from driftway.producers.streams.columns import require_distinct
from driftway.producers.streams.compressed import HEAD_BYTES, head_of
from driftway.producers.streams.csv_header import (
    FEWEST_ROWS,
    has_second_header,
    is_number,
    is_row,
    names_in,
    numeric_columns,
)
from driftway.producers.streams.encoding import UTF8, encoding_of, in_words
from driftway.producers.streams.file_options import FileOptions
from driftway.worker.errors import UsageFailure, plural
from driftway.worker.wire.json_tokens.text_values import MISSING

NAMES_OF_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
SEPARATOR_LINE = re.compile(r"sep=(.)", re.IGNORECASE)
"""The first line of files that Excel writes for itself."""
OTHER_COMMENTS = "%", "//", "|", "--", "!"
"""What comments begin with in some files, where they are only looked for before the header."""
RULE = re.compile(r"^[|+: -]+$\n?", re.MULTILINE)
"""The line below the header of a table of Markdown."""
COMMENT, SINGLE, DOUBLE, BACKSLASH = "#", "'", '"', "\\"
SAMPLE_ROWS, SAMPLE_CELLS = 200, 100_000
SHARE = 0.9
"""Part of the sample's rows that must have as many cells as most for a separator to be believed."""
WITHOUT_NAME, UNNAMED = "column {}", "Unnamed: 0"
"""What a column without a name is called here, and what pandas calls the first one when it reads it."""


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Parameters
    ----------
    encoding : str
        As Python names it.
    separator : str
        Between cells.
    decimal : str
        ``.`` or ``,``.
    columns : tuple of str
        A name for each cell of a row; unique.
    left_out : frozenset of str
        Those of them that are no data: the index of a data frame, an empty last column.
    skipped : int
        Lines before the first row: blank lines, comments and the header.
    quote : str
        Around cells with separators or newlines.
    escape : str
        Before quotes inside of quotes; empty: they are doubled.
    blanks : bool
        Whether blanks follow the separators, which are no part of the cells.
    blanks_before_quotes : bool
        Whether some of these blanks stand before quotes.
    newlines : bool
        Whether the sample has a newline in quotes.
    line_bytes : int
        Length of the longest line of the sample.
    notes : tuple of str
        What was found, in words, where it is not what RFC 4180 has.
    """

    encoding: str = UTF8
    separator: str = ","
    decimal: str = "."
    columns: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    skipped: int = 0
    quote: str = DOUBLE
    escape: str = ""
    blanks: bool = False
    blanks_before_quotes: bool = False
    newlines: bool = False
    line_bytes: int = 0
    notes: tuple[str, ...] = field(default=(), compare=False)


def dialect_of(path: Path, given: FileOptions) -> Dialect:
    """Detect the dialect of a CSV file; what the user gives is not detected.

    Raises
    ------
    UsageFailure
        The file is empty, has no rows, has two columns of one name, or cannot be read.
    """
    head = head_of(path)
    encoding = given.encoding or encoding_of(path, head)
    lines = list(io.StringIO(head.decode(encoding, errors="replace"), newline=""))  # ends of lines are those of CSV
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        lines = lines[:-1]  # it may be cut
    notes = [] if encoding == UTF8 or given.encoding else [f"its text is read as {in_words(encoding)}"]
    before = 0
    while before < len(lines) and (not lines[before].strip() or lines[before].startswith(COMMENT)):
        before += 1
    if before == len(lines):
        raise UsageFailure(f"{path} is empty")
    if other := _comments_ahead(lines[before:]):
        notes.append(f"its first lines, which begin with {other[0]}, are left out")
        before += other[1]
    said = SEPARATOR_LINE.fullmatch(lines[before].strip())
    before += said is not None
    kept = [line for line in lines[before:] if not line.startswith(COMMENT)]
    if len(kept) == 1 and len(lines) - before > 1 and _are_rows(lines[before + 1 :], kept[0]):
        kept = lines[before:]
    separator = given.separator or (_separator(kept) if said is None else said[1])
    if separator == BLANK:
        kept = [with_single_blanks(line, DOUBLE) for line in kept]
    if separator != "," and not given.separator:
        notes.append(f"its cells are separated by {NAMES_OF_SEPARATORS.get(separator, repr(separator))}")
    sample = _Sample(kept, separator)
    if sample.rows and all(len(row) == 1 for row in sample.rows) and not given.separator and said is None:
        notes.append("its rows have one cell each; --separator CHAR names another separator")
    apart = [line for line in lines[before:] if line.startswith(COMMENT)] if len(kept) < len(lines) - before else []
    are_rows = bool(apart) and all(len(row) == sample.width for row in _Sample(apart, separator).rows)
    if (apart and not are_rows) or any(line.startswith(COMMENT) for line in lines[:before]):
        notes.append(f"lines that begin with {COMMENT} are left out")
    if not sample.rows:
        raise UsageFailure(f"cannot read {path}: its first line has a cell of more than 128 KiB")
    if sample.has_single_quotes():
        sample = _Sample(kept, separator, SINGLE)
        notes.append("its quotes are single ones")
    if sample.has_escapes(kept):
        sample = _Sample(kept, separator, sample.quote, BACKSLASH)
        notes.append("its quotes inside of quotes have backslashes before them")
    decimal = given.decimal or ("," if _has_decimal_commas(sample.rows[1:], separator) else ".")
    if decimal == "," and not given.decimal:
        notes.append("its numbers have decimal commas")
    without_header = bool(given.columns) and not _is_header(given.columns, sample.rows[0])
    columns, left_out = _columns(path, given, sample, decimal, notes)
    if len(sample.rows) == 1 and not without_header:
        raise UsageFailure(f"{path} has a header but no rows")
    if sample.first_is_row and before and (names := names_in(lines[before - 1], COMMENT, separator, sample.width)):
        columns, notes[-1] = names, "the names of its columns are those of the last comment"
    skipped = before + (0 if without_header or sample.first_is_row else sample.lines_of_header)
    return Dialect(
        encoding,
        separator,
        decimal,
        columns,
        left_out,
        skipped,
        sample.quote,
        sample.escape,
        sample.blanks,
        sample.has_blanks_before_quotes(kept),
        sample.newlines,
        max(map(len, kept)),
        tuple(notes),
    )


def _are_rows(lines: Sequence[str], header: str) -> bool:
    """Whether lines that begin as comments do have as many cells as a header: colours or tags, say."""
    width = len(_Sample([header], _separator([header])).rows[0])
    return width > 1 and all(len(row) == width for row in _Sample(lines, _separator([header])).rows)


def _comments_ahead(lines: Sequence[str]) -> tuple[str, int] | None:
    """The sign of comments ahead of lines without it, and their number; one with as many cells as rows is a header."""
    sign = next((one for one in OTHER_COMMENTS if lines and lines[0].startswith(one)), "")
    n = next((i for i, line in enumerate(lines) if not line.startswith(sign)), 0)
    if not sign or not n or any(line.startswith(sign) for line in lines[n:]):
        return None
    separator = _separator(lines[n:])
    width, own = (_Sample(some, separator).width for some in (lines[n:], lines[:1]))
    return None if n == 1 and own == width else (sign, n)


class _Sample:
    """The first rows of a file, in cells; `rows` has the header, too."""

    def __init__(self, lines: Sequence[str], separator: str, quote: str = DOUBLE, escape: str = "") -> None:
        self.separator, self.quote, self.escape = separator, quote, escape
        self.rows: list[list[str]] = []
        self._lines: list[int] = []
        """Of each row, the number of lines up to its end."""
        self.first_is_row = False
        reader = self._reader(lines, escape)
        count = 0
        try:
            for row in reader:
                if row:
                    self.rows.append(row)
                    self._lines.append(reader.line_num)
                    count += len(row)
                if len(self.rows) > (SAMPLE_ROWS if count < SAMPLE_CELLS else FEWEST_ROWS):
                    break
        except csv.Error:  # a cell of more than 128 KiB: what was read is enough
            pass
        self.newlines = any("\n" in cell or "\r" in cell for row in self.rows for cell in row)
        widths = Counter(len(row) for row in self.rows[1:])
        if widths:
            self.width = widths.most_common(1)[0][0]
        else:
            self.width = len(self.rows[0]) if self.rows else 0
        body = RULE.sub("", "".join(lines[self.lines_of_header : self.lines_of_header + len(self.rows)]))
        followed = re.findall(rf"{re.escape(separator)}(?=[ \r\n]|\Z)", body)
        self.blanks = f"{separator} " in body and len(followed) == body.count(separator)

    @property
    def lines_of_header(self) -> int:
        """The lines up to the end of the header."""
        return self._lines[0] if self._lines else 0

    def rows_of_most(self) -> list[list[str]]:
        """The rows behind the header that have as many cells as most."""
        return [row for row in self.rows[1:] if len(row) == self.width]

    def leave_out_second_header(self) -> None:
        """Count the row behind the header to the header."""
        del self.rows[1], self._lines[0]

    def _reader(self, lines: Sequence[str], escape: str, strict: bool = False, skip_blanks: bool = True) -> Any:
        return csv.reader(
            lines,
            delimiter=self.separator,
            quotechar=self.quote,
            escapechar=escape or None,
            skipinitialspace=skip_blanks,
            strict=strict,
        )

    def has_blanks_before_quotes(self, lines: Sequence[str]) -> bool:
        """Whether blanks stand before the quotes of some cells, which are then no quotes to a parser."""
        if self.separator == BLANK or not any(f"{blank}{self.quote}" in line for line in lines for blank in " \t"):
            return False
        with contextlib.suppress(csv.Error):  # a cell of more than 128 KiB
            for row in self._reader(lines[self.lines_of_header :], self.escape, skip_blanks=False):
                if any(cell[0] in " \t" and cell.lstrip(" \t").startswith(self.quote) for cell in row if cell):
                    return True
        return False

    def has_escapes(self, lines: Sequence[str]) -> bool:
        """Whether the rows make sense only if a backslash keeps the next character: as Spark and MySQL write them."""
        found = any(BACKSLASH + self.quote in line for line in lines)
        return found and not self._fits(lines, "") and self._fits(lines, BACKSLASH)

    def _fits(self, lines: Sequence[str], escape: str) -> bool:
        """Whether no quote stands where it must not, and all rows have one number of cells."""
        widths = set[int]()
        try:
            for row in self._reader(lines, escape, strict=True):
                widths.add(len(row) or self.width)
        except csv.Error as error:
            if "unexpected end" not in str(error):  # the last row may be cut
                return False
        return len(widths) == 1

    def has_single_quotes(self) -> bool:
        """Whether all cells of a column are in single quotes."""
        rows = self.rows_of_most()
        return len(rows) >= FEWEST_ROWS and any(
            all(len(row[i]) > 1 and row[i][0] == row[i][-1] == SINGLE for row in rows) for i in range(self.width)
        )


def _separator(lines: Sequence[str]) -> str:
    """The separator that gives the most rows the same number of cells, above one; blanks only if no other does."""
    best, most = ",", (0.0, 0)
    for separator in (",", *(one for one in NAMES_OF_SEPARATORS if one != BLANK)):
        rows = _Sample(lines, separator).rows
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        found = (count / len(rows) if width > 1 else 0.0, width)
        if found[0] >= SHARE and found > most:
            best, most = separator, found
    if most == (0.0, 0) or (best == "\t" and _has_numbers_in_one_cell(_Sample(lines, best).rows)):
        rows = _Sample([with_single_blanks(line, DOUBLE) for line in lines], BLANK).rows
        return BLANK if _is_table(rows) else best
    return best


def _has_numbers_in_one_cell(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some column has several numbers with blanks between them, or gaps, in all its cells."""

    def several(cell: str) -> bool:
        words = cell.split()
        return len(words) > 1 and all(word in MISSING or is_number(word, ".") for word in words)

    return any(all(map(several, column)) for column in zip(*rows, strict=False))


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows have the same number of cells, more than one, and a column of numbers, which may have gaps.

    The header may lack a name for the names of the rows, as R writes them.
    """
    width, first = len(rows[-1]) if rows else 0, len(rows[0]) if rows else 0
    if width < 2 or len(rows) < FEWEST_ROWS or any(len(row) != width for row in rows[1:]):
        return False
    if first != width and not 1 < first == width - 1:
        return False
    return any(numeric_columns(rows[1:], range(width), mark) for mark in ".,")


def _has_decimal_commas(rows: Sequence[Sequence[str]], separator: str) -> bool:
    """Whether numbers have a decimal comma rather than a point.

    Numbers with both marks tell, such as ``1.234,5``; else those whose mark cannot stand between thousands, such as
    ``2,5``; else how many have the one or the other. Between commas, ``1.234`` is no thousand and ``"1,234"`` is one.
    """
    both, alone, either = Counter[str](), Counter[str](), Counter[str]()
    for text in (cells.bare(cell) for row in rows for cell in row):
        for mark, other in (",.", ".,"):
            if mark not in text or math.isnan(cells.number(text, mark)):
                continue
            both[mark] += other in text
            thousands = cells.GROUPED[other].fullmatch(text)
            alone[mark] += not thousands or (mark == "." and separator == ",")
            either[mark] += separator != ","
    found = next((counts for counts in (both, alone) if counts.total()), either)
    return found[","] > found["."]


def _is_header(names: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row only repeats the names that were given."""
    return [cell.strip() for cell in row] == list(names)


def _columns(
    path: Path, given: FileOptions, sample: _Sample, decimal: str, notes: list[str]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names of the columns, and those that hold no data."""
    if given.columns:
        if len(given.columns) != sample.width:
            raise UsageFailure(
                f"--columns names {plural(len(given.columns), 'column')}, the rows of {path} have {sample.width}"
            )
        return given.columns, frozenset()
    header = [cell.strip() for cell in sample.rows[0]]
    if is_row(sample.rows[0], sample.rows_of_most(), decimal):
        sample.first_is_row = True
        notes.append(
            "its first line looks like a row, not a header, so its columns are called c0, c1, ..; --columns A,B,.. "
            "names them"
        )
        return tuple(f"c{i}" for i in range(sample.width)), frozenset()
    if sample.width == len(header) and has_second_header(sample.rows[1:], decimal, given.missing_values or ()):
        notes.append(f"its second line, which begins with {sample.rows[1][0]!r}, is left out as a second header")
        sample.leave_out_second_header()
    left_out = set[str]()
    if len(header) == sample.width + 1 and not header[-1]:
        header.pop()  # a comma at the end of the header only
    widths = {len(row) for row in sample.rows[1:] if len(row) > 1}
    titled = len(header) > 2 and not any(header[1:])  # of a sheet, with its empty cells
    names = 1 if titled else len(header)
    if widths and (titled or widths.isdisjoint((names, names + 1))):
        raise UsageFailure(
            f"{path} has {plural(names, 'name')} in its header, {header[0]!r} the first, but {min(widths)} cells "
            "in its rows: correct its header, or remove what stands before it"
        )
    if sample.width == len(header) + 1:
        if all(not row[-1].strip() for row in sample.rows[1:] if len(row) == sample.width):
            header.append("")  # a comma at the end of each row
        else:
            header.insert(0, "")  # the names of rows, as R writes them
    for i in range(len(header)):
        if header[i] and (i or header[i] != UNNAMED):
            continue
        header[i] = WITHOUT_NAME.format(i + 1)
        empty = all(not row[i].strip() for row in sample.rows[1:] if len(row) > i)
        if i == 0 or empty:
            left_out.add(header[i])
            notes.append(_without_name(i, len(header), empty))
    require_distinct(path, header, advice=": rename one of them in its header")
    return tuple(header), frozenset(left_out)


def _without_name(i: int, n: int, empty: bool) -> str:
    """Say why column i of n, which has no name, is left out; `empty` if it has no values either."""
    if not empty:
        return "its first column has no name and is left out as the index of a data frame"
    places = {n - 1: "last column", 0: "first column"}
    return f"its {places.get(i, f'column {i + 1}')} has neither a name nor values and is left out"
