"""Text in a label column -> class indices or numbers; the only place that maps class names to indices."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from driftway.producers.streams import cells
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.json_tokens.text_values import MISSING

MAX_SHOWN = 60
"""Characters of a cell in an error message."""


class LabelReader:
    """Reads the text of one label column.

    Parameters
    ----------
    where : str
        File and column, for error messages.
    labels : sequence of str or None
        Class names in index order; None: labels are plain numbers.
    missing : collection of str
        Words for a missing label, unless a class has that name.
    decimal : str
        Decimal mark of numbers.
    """

    def __init__(
        self,
        where: str,
        labels: Sequence[str] | None,
        missing: Collection[str] = MISSING,
        decimal: str = ".",
    ) -> None:
        self._where, self._missing, self._decimal = where, missing, decimal
        self.labels = None if labels is None else tuple(labels)
        names = [] if labels is None else list(labels)
        self._index = {name: k for k, name in enumerate(names)}
        # The same class may be written 1, +1 or 1.0, so numbers are compared by value; truth values likewise.
        self._numeric = {value: k for k, name in enumerate(names) if not math.isnan(value := _plain_number(name))}
        truths = [cells.truth(name) for name in names]
        self._truths = {value: k for k, value in enumerate(truths)} if set(truths) == {False, True} else {}

    def class_of(self, text: str) -> int | None:
        """The index of the class that a text names; None if it is missing.

        Raises
        ------
        UsageFailure
            The text is not one of the classes.
        """
        word = text.strip()
        found = self._index.get(word)
        if found is None and word in self._missing:
            return None
        if found is None:
            plain = word if self._decimal == "." else word.replace(self._decimal, ".")
            found = self._numeric.get(_plain_number(plain))
        if found is None and (value := cells.truth(word)) is not None:
            found = self._truths.get(value)
        if found is None:
            raise UsageFailure(
                f"{self._where} holds {word[:MAX_SHOWN]!r}, which is none of {', '.join(self.labels or ())}"
            )
        return found

    def read(self, text: str | None) -> float:
        """Class index or number of `text`; NaN if it is missing.

        Raises
        ------
        UsageFailure
            The text is not one of the classes, or not a number if no classes were named.
        """
        if text is None or (self.labels is None and text.strip() in self._missing):
            return math.nan
        if self.labels is not None:
            found = self.class_of(text)
            return math.nan if found is None else float(found)
        number = cells.number(text, self._decimal)
        if math.isnan(number):
            advice = "name the classes in order, --labels A,B"
            if "," in text and math.isnan(cells.number(text, ",")):
                advice = "a class whose name has a comma must be renamed"
            raise UsageFailure(f"{self._where} holds {text.strip()[:MAX_SHOWN]!r}, which is not a number: {advice}")
        return number


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return `labels` as a tuple, after checking that they can name classes.

    Raises
    ------
    UsageFailure
        There are fewer than two, an empty one or a duplicate.
    """
    names = tuple(str(label).strip() for label in labels)
    if len(names) < 2 or "" in names or len(set(names)) != len(names):
        raise UsageFailure(f"labels must be at least two different names, got {','.join(names) or 'none'}")
    return names


def _plain_number(text: str) -> float:
    """The number that a text is; NaN for words, truth values included."""
    return float(text) if cells.NUMBER.fullmatch(text) else math.nan
