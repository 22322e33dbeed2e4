"""Text in a label column -> class indices or numbers; the only place that maps class names to indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from driftway.worker.errors import UsageFailure

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
"""Texts for a missing value in text files, unless a class has that name."""


class LabelReader:
    """Reads the text of one label column.

    Parameters
    ----------
    where : str
        File and column, for error messages.
    labels : sequence of str or None
        Class names in index order; None: labels are plain numbers.
    """

    def __init__(self, where: str, labels: Sequence[str] | None) -> None:
        self._where = where
        self._labels = None if labels is None else tuple(labels)
        self._index = {label: float(index) for index, label in enumerate(labels or ())}
        # The same class may be written 1, +1 or 1.0, so numbers are compared by value.
        self._numeric = {
            number: float(index) for index, label in enumerate(labels or ()) if not math.isnan(number := _number(label))
        }

    def read(self, text: str | None) -> float:
        """Class index or number of `text`; NaN if it is missing.

        Raises
        ------
        UsageFailure
            The text is not one of the classes, or not a number if no classes were named.
        """
        if text is None:
            return math.nan
        text = text.strip()
        if text in self._index:
            return self._index[text]
        if text in MISSING:
            return math.nan
        number = _number(text)
        if self._labels is None:
            if math.isnan(number):
                raise UsageFailure(
                    f"{self._where} holds {text!r}, which is not a number: name the classes in order, --labels A,B"
                )
            return number
        if number in self._numeric:
            return self._numeric[number]
        raise UsageFailure(f"{self._where} holds {text!r}, which is none of {', '.join(self._labels)}")


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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
