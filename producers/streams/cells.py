"""What the text of a file's cell means: nothing, a truth value, a number, or text.

Every reader of files asks here, so that a cell means the same wherever its file is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from driftway.worker.wire.json_tokens.text_values import MISSING, MISSING_AMONG_NUMBERS, truth_in

TRUE, FALSE = "true", "false"
"""The truth values that are also numbers, in any case: 1 and 0."""
NUMBER = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE | re.ASCII)
GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:[,' \u00a0\u202f]\d{3})+(?:\.\d*)?", re.ASCII),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:[.' \u00a0\u202f]\d{3})+(?:,\d*)?", re.ASCII),
}
"""Decimal mark -> a number with marks or blanks between thousands. It does not begin with 0: ``0,125`` is below 1."""
MINUS = "\u2212"
"""What typesetting, and programs in some languages, write for a minus."""
NO_DIGIT = re.compile(r"[,.' \u00a0\u202f]")
CURRENCY = re.compile(r"^([+-]?)\s*[$€£¥]\s*|\s*[$€£¥]$")
CODE = re.compile(r"[+-]?0\d+", re.ASCII)
"""Digits with leading zeros: a code, which stays text unless a number is asked for."""


def not_plain(text: str) -> bool:
    """Whether a text has underscores or is not ASCII: `int` and `float` accept such numbers, which no file means."""
    return "_" in text or not text.isascii()


def truth(text: str) -> bool | None:
    """The truth value that a word stands for, as in events; None if it stands for none."""
    found = truth_in(text.strip())
    return None if found < 0 else bool(found)


def bare(text: str) -> str:
    """A cell without what amounts have around their digits, and with the sign of negative ones before them.

    ``$5``, ``5 €`` and ``5 %`` are 5; ``(1.50)`` and ``1.50-``, as bookkeeping writes them, are -1.50.
    """
    word = CURRENCY.sub(r"\1", text.strip().replace(MINUS, "-"))
    if word.endswith("%"):
        word = word[:-1].rstrip()
    if word.endswith("-") and ("." in word or "," in word):
        return f"-{word[:-1].rstrip()}"
    return f"-{CURRENCY.sub('', word[1:-1].strip())}" if word[:1] + word[-1:] == "()" else word


def number(text: str, decimal: str = ".") -> float:
    """The number that a cell holds, ``true`` and ``false`` as 1 and 0; NaN if it holds none.

    ``12.5 %`` is 12.5, U+2212 is a minus, and ``1,234.5`` is 1234.5; with a decimal comma ``1.234,5`` is. See `bare`.
    """
    word = bare(text)
    if GROUPED[decimal].fullmatch(word):
        whole, _, fraction = word.partition(decimal)
        return float(f"{NO_DIGIT.sub('', whole)}.{fraction}")
    plain = word if decimal == "." else word.replace(decimal, ".")
    if NUMBER.fullmatch(plain):
        return float(plain)
    return {TRUE: 1.0, FALSE: 0.0}.get(word.lower(), math.nan)


@dataclass(frozen=True)
class MissingWords:
    """Which texts are missing values.

    Parameters
    ----------
    words : tuple of str or None
        Those that the user named, for all columns; None: the usual ones.
    kept : mapping
        Column -> words that are values there: its classes or categories.
    """

    words: tuple[str, ...] | None = None
    kept: Mapping[str, Collection[str]] = field(default_factory=dict)

    def everywhere(self) -> list[str]:
        """The words for a missing value in every column."""
        words = MISSING if self.words is None else ("", *self.words)
        kept = {word for words in self.kept.values() for word in words}
        return [word for word in dict.fromkeys(words) if word not in kept]

    def of(self, column: str, among_numbers: bool = False) -> frozenset[str]:
        """The words for a missing value in a column; `among_numbers`: all its other cells are numbers."""
        words = MISSING if self.words is None else ("", *self.words)
        more = MISSING_AMONG_NUMBERS if among_numbers and self.words is None else ()
        return frozenset((*words, *more)).difference(self.kept.get(column, ()))
