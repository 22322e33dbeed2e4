"""Features as a program has them (dicts, lists, arrays, data frames), in the order of a learner's columns."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LAZY = "toPandas", "collect", "to_pandas", "df"
"""Methods by which what is only a query so far (of Spark, polars, DuckDB or others) gives its rows."""
MAX_SHOWN = 40
"""Characters of a value in a message."""
NO_ROW = "a row is a dict or a list of numbers, not of the type {}"
"""Sentence about what was given as a row."""
IN_ORDER = "its columns are taken in the model's order"
"""What happens to a table if only it or only the model has names."""
TIMES = np.datetime64, np.timedelta64
"""Types of times that numpy turns into numbers."""
NO_NUMBERS = str, bytes, *TIMES
"""Types that `float` may take for numbers."""
TIME_COLUMN = re.compile("date|time|duration", re.IGNORECASE)
"""How the names of the types of columns begin that hold times, in pandas, polars and Arrow."""


class Columns:
    """The features of a learner, by name or by position.

    Parameters
    ----------
    names : sequence of str or None
        In the order of the learner's columns; None: rows are lists or arrays.
    n_features : int
        Their number.
    """

    def __init__(self, names: Sequence[str] | None, n_features: int) -> None:
        self.names, self.n_features = None if names is None else tuple(names), n_features
        self._values = _getter(self.names)

    @classmethod
    def of_row(cls, x: Any) -> Columns:
        """Those of a first row: a dict's names, sorted as a worker sorts them, a Series' names, or a list's positions.

        Raises
        ------
        ValueError
            The row is empty, or neither.
        """
        names = _sorted_names(x) if isinstance(x, Mapping) else names_of_row(x)
        if names is not None:
            _require_features(len(names))
            return cls(names, len(names))
        row = np.asarray(x)
        if row.ndim > 1:
            raise ValueError(f"a row is a dict or a list of numbers, not an array of shape {row.shape}")
        if row.ndim < 1:
            raise ValueError(NO_ROW.format(type(x).__name__))
        _require_features(len(row))
        return cls(None, len(row))

    @classmethod
    def of_table(cls, X: Any) -> Columns:
        """Those of a first table: a data frame's names, in its order, or an array's positions.

        Raises
        ------
        ValueError
            It is not a table of numbers.
        """
        values, names = matrix(X), names_of(X)
        _require_features(values.shape[1], len(values))
        return cls(names, values.shape[1])

    def state(self) -> tuple[tuple[str, ...] | None, int]:
        """Return what makes the same columns in a copy of the model."""
        return self.names, self.n_features

    def row(self, x: Any) -> Sequence[float]:
        """Return the numbers of one row, checked to be finite.

        Raises
        ------
        ValueError
            A feature is missing or not in the model, or its value is not a finite number.
        """
        try:
            row = self._values(x)
            if len(x) == self.n_features and math.isfinite(sum(row)):
                return row
        except (TypeError, KeyError, IndexError, ValueError, OverflowError):
            pass
        return self._checked(x)

    def table(self, X: Any) -> Array:
        """Return a table's rows as f8[n, d], its named columns in the model's order.

        Raises
        ------
        ValueError
            Columns are missing or not in the model, or a value is not a finite number.
        """
        values, names = matrix(X), names_of(X)
        if (names is None) != (self.names is None):
            has, known = ("has no", "by name") if names is None else ("has", "by position")
            warnings.warn(f"X {has} names of features, but the model knows them {known}: {IN_ORDER}", stacklevel=4)
        if names is not None and self.names is not None and names != self.names:
            self._require_names(names)
            values = values[:, [names.index(name) for name in self.names]]
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} features, but Driftway is expecting {self.n_features} features as input"
            )
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0].tolist()
            raise ValueError(
                f"feature {self._name(column)} of row {row} is {values[row, column]}: NaN and infinity are no features"
            )
        return np.ascontiguousarray(values)

    def _checked(self, x: Any) -> Sequence[float]:
        """As `row`, slower, with the error named."""
        if isinstance(x, Mapping) or (self.names is not None and names_of_row(x) is not None):
            if self.names is None:
                raise ValueError(f"the row is a dict, but the model knows its {self.n_features} features by position")
            self._require_names(tuple(x.keys()))
            given = [x[name] for name in self.names]
        else:
            try:
                given = list(x)
            except TypeError:
                raise ValueError(NO_ROW.format(type(x).__name__)) from None
            if len(given) != self.n_features:
                raise ValueError(
                    f"the row has {len(given)} features, but the model is expecting {self.n_features} features"
                )
        return [self._number(at, value) for at, value in enumerate(given)]

    def _require_names(self, given: tuple[str, ...]) -> None:
        if missing := set(self.names or ()) - set(given):
            raise ValueError(f"the feature {min(missing)!r} is missing")
        if unknown := set(given) - set(self.names or ()):
            raise ValueError(f"the feature {min(unknown, key=str)!r} is not one of the model's")

    def _number(self, at: int, value: Any) -> float:
        """One value, or an error that names its feature."""
        return finite(value, f"feature {self._name(at)}")

    def _name(self, at: int) -> str:
        return str(at) if self.names is None else repr(self.names[at])


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns, as pandas, polars or Arrow have them; None if they are no text.

    Raises
    ------
    ValueError
        Two columns have one name.
    """
    found = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    if found is None:
        return None
    names = tuple(found)
    if not all(isinstance(name, str) for name in names):
        return None
    return _distinct(names, "X has two columns")


def names_of_row(x: Any) -> tuple[str, ...] | None:
    """Return the names in a row of a pandas data frame, which is a Series; None for other rows, or if they are no text.

    Raises
    ------
    ValueError
        Two values have one name.
    """
    names = getattr(x, "index", None)
    if names is None or not hasattr(x, "to_dict") or getattr(x, "ndim", 0) != 1:
        return None
    named = len(names) > 0 and all(isinstance(name, str) for name in names)
    return _distinct(tuple(names), "the row has two features") if named else None


def _sorted_names(x: Mapping[Any, Any]) -> list[Any]:
    """Return the names of a dict in the order of a worker."""
    try:
        return sorted(x)
    except TypeError:
        types = ", ".join(sorted({type(name).__name__ for name in x}))
        raise ValueError(f"the names of the features have different types ({types}): give all as text") from None


def _distinct(names: tuple[str, ...], two: str) -> tuple[str, ...]:
    """Return names, after checking that no two are the same; `two` begins the sentence that says so."""
    if len(set(names)) < len(names):
        raise ValueError(f"{two} named {next(name for name in names if names.count(name) > 1)!r}")
    return names


def matrix(X: Any) -> Array:
    """Return a table as f8[n, d]: of arrays, lists of lists, or anything with ``__array__``.

    Raises
    ------
    ValueError
        It has another shape, or holds no real numbers.
    """
    if hasattr(X, "toarray"):
        raise TypeError("sparse matrices are not supported: give a dense array, as X.toarray() returns")
    if not hasattr(X, "__array__") and (method := next((name for name in LAZY if hasattr(X, name)), None)):
        raise TypeError(f"X is a {type(X).__name__}, not a table in memory: give X.{method}()")
    if isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
        raise ValueError("X is a list of dicts: give them one by one, to learn_one or predict_one")
    if np.ma.is_masked(X):
        raise ValueError("X has masked values: fill them in first, as X.filled(0) does")
    _require_no_times(X)
    found = np.asarray(X)
    types = set(map(type, found.flat)) if found.dtype.kind == "O" else {found.dtype.type}
    if any(issubclass(one, str | bytes) for one in types):
        raise ValueError(f"X holds text, not numbers{_where(found, X)}")
    if found.dtype.kind == "c":
        raise ValueError("Complex data not supported: features are real numbers")
    try:
        if time := next((one for one in types if issubclass(one, TIMES)), None):  # numpy would count nanoseconds
            raise TypeError(f"{time.__name__} is a time")
        values = found.astype(np.float64, copy=False)
    except OverflowError:
        raise ValueError("X holds an integer that is too large for a float64") from None
    except (TypeError, ValueError) as error:
        sentence = f"X holds values that are not numbers, such as text or categories: {error}{_where(found, X)}"
        raise type(error)(sentence) from None
    if values.ndim != 2:
        hint = " Reshape your data: X[None] is one row, X[:, None] one feature." if values.ndim == 1 else ""
        raise ValueError(f"X is a table with rows and columns, not an array of {values.ndim} dimensions.{hint}")
    return values


def _require_no_times(X: Any) -> None:
    """Require that no column of a data frame holds times: beside numbers, polars counts their units."""
    for name in names_of(X) or ():
        column = X[name]
        kind = str(getattr(column, "dtype", getattr(column, "type", "")))
        if TIME_COLUMN.match(kind):
            raise TypeError(f"X holds values that are not numbers: the type {kind}, a time (feature {name!r})")


def number_in(value: Any) -> float | None:
    """Return a number as a float, infinite if it is too large for one; None for all other values.

    A text is none, even of digits, since it may be a code such as 01234; nor is a time, of which `float` would count
    the nanoseconds.
    """
    if isinstance(value, NO_NUMBERS):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def finite(value: Any, what: str) -> float:
    """Return a value, which `what` is, as a float.

    Raises
    ------
    ValueError
        It is no number, or not finite.
    """
    number = number_in(value)
    if number is None:
        raise ValueError(f"{what} is {repr(value)[:MAX_SHOWN]}, not a number")
    if not math.isfinite(number):
        raise ValueError(f"{what} is {number}, not a finite number")
    return number


def _where(found: Any, X: Any) -> str:
    """Return where the first value is that is no number, for the end of a sentence; nothing for other arrays."""
    if found.dtype.kind != "O" or found.ndim != 2:
        return ""
    for (row, column), value in np.ndenumerate(found):
        if number_in(value) is None:
            names = names_of(X)
            name = column if names is None else repr(names[column])
            return f": {repr(value)[:MAX_SHOWN]} (feature {name} of row {row})"
    return ""


def _require_features(n: int, rows: int = 1) -> None:
    if n < 1:
        raise ValueError(f"Found array with 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required.")


def _getter(names: tuple[str, ...] | None) -> Callable[[Any], Sequence[float]]:
    """Return what takes the values out of a row, as fast as Python does it."""
    if names is None:
        return tuple
    if len(names) == 1:
        return lambda x: (x[names[0]],)
    return itemgetter(*names)
