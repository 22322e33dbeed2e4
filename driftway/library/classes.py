"""Labels as a program has them, as class indices."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.library.columns import MAX_SHOWN
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
        There are fewer than two, or one twice, or one is missing, or `given` is neither.
    """

    def __init__(self, given: Iterable[Any] | int | None = None) -> None:
        self.known: list[Any] = []
        self._index: dict[Any, int] = {}
        given = list_or_number(given)
        self.n_classes = given if isinstance(given, int) else 2
        if given is not None and not isinstance(given, int):
            for label in given:
                if is_missing(label):
                    raise ValueError(f"{label} is no class: a missing label cannot be predicted")
                self._add(plain(label))
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
            There are more classes than the model was made for, or the label cannot be one.
        """
        try:
            found = self._index.get(label)
        except TypeError:  # it has no hash
            found = None
        return self._first_seen(label) if found is None else found

    def indices(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the indices of an array's labels, f8[n].

        Raises
        ------
        ValueError
            As `index`.
        """
        values, inverse = distinct(y)
        known = {value: self._index.get(value) for value in values.tolist()}
        if None in known.values():  # they are numbered as they come
            first = [int(np.argmax(inverse == i)) for i in range(len(values))]
            before = len(self.known)
            try:
                for i in np.argsort(first).tolist():
                    self.index(values[i])
            except ValueError:  # then none of them is known
                for label in self.known[before:]:
                    del self._index[label]
                del self.known[before:]
                raise
        at = np.array([self._index[value] for value in values.tolist()], np.float64)
        return at[inverse]

    def label(self, index: int) -> Any:
        """Return the label of a class; of one that has not come yet, the one that has; None without any."""
        if index < len(self.known):
            return self.known[index]
        return self.known[0] if self.known else None

    def _first_seen(self, label: Any) -> int:
        label = plain(label)
        if is_missing(label):
            raise ValueError(f"the label is {label}: a model learns from rows with labels")
        if label in self._index:
            return self._index[label]
        if not self.known and self.n_classes == 2 and label in INDICES:
            # Truth values and 0 and 1 are their own indices, as on a topic.
            for one in (False, True) if isinstance(label, bool) else INDICES:
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


def list_or_number(given: Any) -> list[Any] | int | None:
    """Return classes as a list, or their number, or None if nothing is known of them.

    Raises
    ------
    ValueError
        It is none of these.
    """
    if given is None or isinstance(given, Integral):
        return None if given is None else int(given)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"classes is {given!r}: give a list of the classes, or their number")
    return list(given)


def plain(label: Any) -> Any:
    """Return a label of numpy and the like as Python's own: equal labels are then one class, and JSON can write them.

    Raises
    ------
    ValueError
        It has several values, so it cannot be a class.
    """
    found = label.item() if getattr(label, "ndim", None) == 0 and hasattr(label, "item") else label
    try:
        hash(found)
    except TypeError:
        shown = repr(found)[:MAX_SHOWN]
        raise ValueError(f"the label is {shown}: a class is one text, number or truth value") from None
    return found


def as_array(labels: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """Return labels as an array, [n]: one of objects if numpy would make others of them, as of 1 beside "a"."""
    objects = np.fromiter(labels, np.object_, len(labels))
    try:
        found = np.asarray(labels)
    except ValueError:  # tuples of several lengths
        return objects
    return found if found.shape == objects.shape and found.tolist() == objects.tolist() else objects


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
        One is missing.
    """
    labels = np.asarray(y)
    if isinstance(y, list | tuple) and labels.ndim == 1:
        labels = as_array(y)
    one_by_one = np.frompyfunc(is_missing, 1, 1)
    missing = (
        np.asarray(one_by_one(labels), np.bool_) if labels.dtype.kind == "O" else labels != labels  # noqa: PLR0124 - NaN
    )
    if np.ma.is_masked(y):
        missing = missing | np.ma.getmaskarray(y)
    if labels.ndim and missing.any():
        raise ValueError(
            f"the label of row {np.argwhere(missing)[0][0]} is missing (NaN or None): a model learns from rows with "
            "labels, so leave out the others"
        )
    return labels


def distinct(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct labels in their order, and of each label the index among them.

    Raises
    ------
    ValueError
        They have no order, as text and numbers have none.
    """
    try:
        values, inverse = np.unique(labels, return_inverse=True)
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in labels.flat}))
        raise ValueError(f"y mixes labels of the types {types}: give all as one type") from None
    return values, inverse.reshape(-1)


def label_of(word: str) -> Any:
    """Return a class that has been given as text, as programs have it: a truth value, a number, or the text."""
    return TRUTH[word] if word in TRUTH else as_number(word)


def word_of(label: Any) -> str:
    """Return a class as text, as a worker's ``--labels`` has it."""
    return ("true" if label else "false") if isinstance(label, bool) else str(label)
