"""Whether the first lines of a CSV file are names of columns or rows, told by the rows below them."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Sequence

from driftway.producers.streams import cells
from driftway.worker.wire.json_tokens.text_values import MISSING, MISSING_AMONG_NUMBERS

LONGEST_COUNT = 10
FEWEST_ROWS = 3
"""Rows below which nobody can tell a header from a row by the other rows."""
FEWEST_COLUMNS = 2
"""Words in columns of numbers below which a second line may be a row with a word for a missing value."""

Row = Sequence[str]


def is_row(first: Row, rest: Sequence[Row], decimal: str) -> bool:
    """Whether the first line is no header but a row as those behind it, which have one number of cells.

    It is one if it has numbers only, or a number or nothing in each column of numbers. Without such columns, it is one
    if at least half of its cells occur again in their columns.
    """
    if _counts(first) and not all(map(_counts, rest)) and not _has_word_of(first, rest, decimal):
        return False  # years, or the places of columns without names
    if all(is_number(cell, decimal) for cell in first):
        return True
    if len(rest) < FEWEST_ROWS or len(first) != len(rest[0]):
        return False
    columns = range(len(first))
    with_number = {i for i in columns if is_number(first[i], decimal)}
    if with_number and (numeric := numeric_columns(rest, columns, decimal)):
        gaps = {i for i in columns if _is_missing(first[i]) and (i or first[i].strip())}  # the index has no name
        return not with_number.isdisjoint(numeric) and set(numeric) <= with_number | gaps
    others = [row for row in rest if list(row) != list(first)]  # a header may be repeated
    columns_of_others: Iterable[Row] = zip(*others, strict=True)
    repeated = sum(bool(cell.strip()) and cell in more for cell, more in zip(first, columns_of_others, strict=False))
    return len(first) > 1 and 2 * repeated >= len(first) and not numeric_columns(rest, columns, decimal)


def has_second_header(rows: list[list[str]], decimal: str, missing: Collection[str]) -> bool:
    """Whether the line below the header, the first of these, is one more: of units, say, or of other names.

    It has no number, but words in most columns of numbers, not counting the usual ones for gaps and those of `missing`.
    """
    rows = rows[:1] + [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(rows) <= FEWEST_ROWS or any(is_number(cell, decimal) for cell in rows[0]):
        return False
    gaps = {*MISSING, *MISSING_AMONG_NUMBERS, *missing}
    numeric = numeric_columns(rows[1:], range(len(rows[0])), decimal)
    words = sum(rows[0][i].strip() not in gaps for i in numeric)
    return words >= FEWEST_COLUMNS and 2 * words > len(numeric)


def names_in(comment: str, sign: str, separator: str, width: int) -> tuple[str, ...]:
    """The names of so many columns in a line of comment; empty if it holds something else."""
    names = tuple(name.strip() for name in next(csv.reader([comment.lstrip(f"{sign} ")], delimiter=separator), []))
    if names and not names[0]:  # the sign is itself a name
        names = (sign, *names[1:])
    return names if len(names) == width == len(set(names)) and all(names) else ()


def is_number(cell: str, decimal: str) -> bool:
    """Whether a cell holds a number."""
    return not math.isnan(cells.number(cell, decimal))


def numeric_columns(rows: Sequence[Row], columns: range, decimal: str) -> list[int]:
    """The columns that hold numbers in these rows, and nothing else but gaps."""
    return [
        i
        for i in columns
        if any(is_number(row[i], decimal) for row in rows)
        and all(is_number(row[i], decimal) or _is_missing(row[i]) for row in rows)
    ]


def _is_missing(cell: str) -> bool:
    return cell.strip() in MISSING


def _has_word_of(first: Row, rest: Sequence[Row], decimal: str) -> bool:
    """Whether a line has a word for a gap, a number with a fraction, or a word that occurs again in its column."""
    for i, cell in enumerate(map(str.strip, first)):
        if not cell:
            continue
        if cell in MISSING or (is_number(cell, decimal) and not cell.lstrip("+-").isdecimal()):
            return True
        if not is_number(cell, decimal) and any(row[i].strip() == cell for row in rest if i < len(row)):
            return True
    return False


def _counts(row: Row) -> bool:
    """Whether the numbers of a row are at least two and half of it, and each is one more than that before it."""
    numbers = [int(cell) for cell in map(str.strip, row) if cell.isdecimal() and len(cell) < LONGEST_COUNT]
    n = len(numbers)
    return n > 1 and 2 * n >= len(row) and numbers == list(range(numbers[0], numbers[0] + n))
