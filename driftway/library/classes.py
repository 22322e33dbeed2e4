"""Labels as a program has them, as class indices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.json_tokens.text_values import as_number

INDICES = 0, 1
TRUTH = {"false": False, "true": True}


class Classes:
    """The classes of a classifier, in index order.

    Parameters
    ----------
    given : iterable or int or None
        The classes; or only their number, in which case they are numbered as they come; None: two.

    Raises
    ------
    ValueError
        There are fewer than two, or one twice.
    """

    def __init__(self, given: Iterable[Any] | int | None = None) -> None:
        self.known: list[Any] = []
        self._index: dict[Any, int] = {}
        self.n_classes = given if isinstance(given, int) else 2
        if given is not None and not isinstance(given, int):
            for label in given:
                self._add(label)
            self.n_classes = len(self.known)
            if len(self._index) < self.n_classes:
                label = next(label for i, label in enumerate(self.known) if label in self.known[:i])
                raise ValueError(f"the class {label!r} is given twice")
        if self.n_classes < 2:
            raise ValueError("a classifier needs at least two classes; it was given one class")

    def index(self, label: Any) -> int:
        """Return a label's index; the next one for a label not seen before, as long as classes are unknown.

        Raises
        ------
        ValueError
            There are more classes than the model was made for.
        """
        found = self._index.get(label)
        return self._first_seen(label) if found is None else found

    def indices(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the indices of an array's labels, f8[n].

        Raises
        ------
        ValueError
            As `index`.
        """
        values, inverse = np.unique(y, return_inverse=True)
        known = {value: self._index.get(value) for value in values.tolist()}
        if None in known.values():  # they are numbered as they come
            first = [int(np.argmax(inverse == i)) for i in range(len(values))]
            before = len(self.known)
            try:
                for i in np.argsort(first).tolist():
                    self.index(values[i].item() if hasattr(values[i], "item") else values[i])
            except ValueError:  # then none of them is known
                for label in self.known[before:]:
                    del self._index[label]
                del self.known[before:]
                raise
        at = np.array([self._index[value] for value in values.tolist()], np.float64)
        return at[inverse.reshape(-1)]

    def label(self, index: int) -> Any:
        """Return the label of a class; of one that has not come yet, the one that has; None without any."""
        if index < len(self.known):
            return self.known[index]
        return self.known[0] if self.known else None

    def _first_seen(self, label: Any) -> int:
        if is_missing(label):
            raise ValueError(f"the label is {label}: a model learns from rows with labels")
        if not self.known and self.n_classes == 2 and label in INDICES:
            # Truth values and 0 and 1 are their own indices, as on a topic.
            for one in (False, True) if isinstance(label, bool | np.bool_) else INDICES:
                self._add(one)
            return self._index[label]
        if len(self.known) == self.n_classes:
            raise ValueError(
                f"the label {label!r} is not one of the {self.n_classes} classes {', '.join(map(repr, self.known))}: "
                "say which there are, as in classes=['a', 'b', 'c']"
            )
        self._add(label)
        return len(self.known) - 1

    def _add(self, label: Any) -> None:
        self._index[label] = len(self.known)
        self.known.append(label)


def is_missing(label: Any) -> bool:
    """Return whether a label is none: None, NaN of any type, or NaT or NA of pandas."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - NaN
    except TypeError:  # pandas' NA is neither equal nor different
        return True


def label_array(y: Any) -> NDArray[Any]:
    """Return labels as an array.

    Raises
    ------
    ValueError
        One is missing, or a list mixes text with other values, which an array would turn into text.
    """
    labels = np.asarray(y)
    if labels.dtype.kind == "U" and isinstance(y, list | tuple) and not all(isinstance(one, str) for one in y):
        labels = np.array(y, np.object_)
        if len(kinds := {type(one).__name__ for one in labels.flat if not is_missing(one)}) > 1:
            raise ValueError(f"y mixes labels of the types {', '.join(sorted(kinds))}: give all as one type")
    one_by_one = np.frompyfunc(is_missing, 1, 1)
    missing = one_by_one(labels).astype(np.bool_) if labels.dtype.kind == "O" else labels != labels  # noqa: PLR0124
    if np.ma.is_masked(y):
        missing = missing | np.ma.getmaskarray(y)
    if labels.ndim and missing.any():
        raise ValueError(
            f"the label of row {np.argwhere(missing)[0][0]} is missing (NaN or None): a model learns from rows with "
            "labels, so leave out the others"
        )
    return labels


def label_of(word: str) -> Any:
    """Return a class that has been given as text, as programs have it: a truth value, a number, or the text."""
    return TRUTH[word] if word in TRUTH else as_number(word)


def word_of(label: Any) -> str:
    """Return a class as text, as a worker's ``--labels`` has it."""
    return ("true" if label else "false") if isinstance(label, bool) else str(label)
