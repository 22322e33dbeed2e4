"""What a text means: a number, a truth value, or a missing value."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from driftway.worker.wire.json_tokens.exact import LARGEST, SMALLEST, number_of

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
TRUTH_WORDS = ("false", "f", "no", "n", "off"), ("true", "t", "yes", "y", "on")
"""Usual words for false and for true, in any case."""
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND",
    "-1.#IND", "1.#QNAN", "-1.#QNAN", "NULL", "null", "None", "\\N",
)  # fmt: skip
"""Words for a missing value in any column of a file, unless a class or category has that name."""
MISSING_AMONG_NUMBERS = (
    "-", "--", ".", "*", "na", "n.a.", "N.A.", "none", "nil", "missing", "unknown",
    "#DIV/0!", "#NUM!", "#VALUE!", "#REF!",
)  # fmt: skip
"""Further words for a missing value in a column or field whose other values are all numbers."""


def as_number(label: str) -> Any:
    """Return a label as a number if it is one, else unchanged (also `nan` and `inf`, which JSON does not have).

    A whole number has all its digits, which a float64 would round beyond 2^53.
    """
    if not NUMBER.fullmatch(label) or not math.isfinite(number := float(label)):
        return label
    if label.lstrip("+-").isdecimal():
        return int(Decimal(label))
    return int(number) if number.is_integer() else number


def as_written(label: str) -> Any:
    """Return a label as `as_number` does, in the form in which `codec` writes it: orjson has integers of 64 bits."""
    number = as_number(label)
    beyond = isinstance(number, int) and not SMALLEST <= number <= LARGEST
    return number_of(Decimal(number)) if beyond else number


def truth_in(text: str) -> int:
    """Return 0 for a word of TRUTH_WORDS that means false, 1 for one that means true, -1 for other texts."""
    word = text.lower()
    return next((k for k, words in enumerate(TRUTH_WORDS) if word in words), -1)


def truth_indices(names: Sequence[str]) -> tuple[int, int]:
    """Return the indices of the names for false and true if there are no other names and one for each; else -1, -1."""
    found = [truth_in(name) for name in names]
    return (found.index(0), found.index(1)) if sorted(found) == [0, 1] else (-1, -1)
