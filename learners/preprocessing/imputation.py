"""Imputation of missing values."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, field, kernel
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import as_views, fields_of

CONSTANT, MEAN, LAST = range(3)


class ImputerState(NamedTuple):
    """Statistics of the columns."""

    seen: Counts = field("i8[n]", "values so far")
    mean: Array = field("f8[n]", "their mean")
    last: Array = field("f8[n]", "the last one")


class Policies(NamedTuple):
    """How to fill a missing value, by column."""

    kind: Counts
    """i8[n]: CONSTANT, MEAN or LAST."""
    constant: Array
    """f8[n]; also used before a column's first value, with 0 for MEAN and LAST."""
    watched: Counts
    """i8[m]: the column index of each indicator."""


class Imputer:
    """Replaces missing values by a constant, or the mean or last value of the column, with optional indicators.

    A row is filled with values of the preceding rows, labelled or not. Missing values are NaN.

    Parameters
    ----------
    policies : sequence of (int, float)
        For each column: CONSTANT with its value, MEAN or LAST.
    watched : sequence of int
        Columns with an indicator: 1 if the value was missing, else 0. Indicators follow all other columns.

    State
    -----
    Those of `ImputerState`.

    Cost
    ----
    O(n) per row, 24 n bytes.
    """

    def __init__(self, policies: Sequence[tuple[int, float]], watched: Sequence[int]) -> None:
        self.state = State(fields_of(ImputerState, {"n": len(policies)}))
        kinds = np.array([kind for kind, _ in policies], np.int64)
        constants = np.array([value if kind == CONSTANT else 0.0 for kind, value in policies])
        self._policies = Policies(kinds, constants, np.array(watched, np.int64))
        self._bound: State | None = None
        self._known: Any = None

    @property
    def width(self) -> int:
        """Columns of a filled row."""
        return len(self._policies.kind) + len(self._policies.watched)

    @property
    def constants(self) -> list[float]:
        """What fills in a missing value of each column before its first value."""
        return [float(one) for one in self._policies.constant]

    def continue_from(self, before: "Imputer", columns: Sequence[int | None] | None) -> None:
        """Go on with the statistics of the columns that stay.

        `columns` has for each column, and then each indicator, its number among those before, None if it is new; None:
        all are the same.
        """
        if columns is None:
            self.state.memory[:] = before.state.memory
            return
        pairs = [(new, old) for new, old in enumerate(columns[: len(self._policies.kind)]) if old is not None]
        for name in self.state:
            for new, old in pairs:
                self.state[name][new] = before.state[name][old]

    def transform(self, rows: Array) -> Array:
        """Fill rows f8[t, n] to f8[t, width], and learn from the values of each row."""
        if self._bound is not self.state:
            self._known, self._bound = as_views(ImputerState, self.state), self.state
        filled = np.empty((len(rows), self.width))
        impute(rows, filled, self._policies, self._known)
        return filled

    def update(self, other: "Imputer") -> None:
        """Merge the statistics of another imputer of the same columns, whose values are later ones."""
        ours, theirs = as_views(ImputerState, self.state), as_views(ImputerState, other.state)
        seen = ours.seen + theirs.seen
        some = np.flatnonzero(theirs.seen)
        ours.mean[some] += (theirs.mean[some] - ours.mean[some]) * (theirs.seen[some] / seen[some])
        ours.last[some] = theirs.last[some]
        ours.seen[:] = seen


@kernel
def impute(rows: Array, filled: Array, policies: Policies, known: ImputerState) -> None:
    """Fill the rows in order. Shapes: rows f8[t, n], filled f8[t, n + m]."""
    n = rows.shape[1]
    for t in range(rows.shape[0]):
        for j in range(n):
            value = rows[t, j]
            if math.isnan(value):
                kind = policies.kind[j]
                if kind == CONSTANT or known.seen[j] == 0:
                    value = policies.constant[j]
                else:
                    value = known.mean[j] if kind == MEAN else known.last[j]
            else:
                known.seen[j] += 1
                known.last[j] = value
                moved = known.mean[j] + (value - known.mean[j]) / known.seen[j]
                if math.isfinite(moved):  # the difference may overflow
                    known.mean[j] = moved
            filled[t, j] = value
        for k in range(policies.watched.shape[0]):
            filled[t, n + k] = 1.0 if math.isnan(rows[t, policies.watched[k]]) else 0.0
