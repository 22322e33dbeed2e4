"""Imputation of missing values."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import as_views, fields_of
from driftway.learners.preprocessing.standardizer import (
    CLIP,
    ENTERS,
    EVERY,
    SPARSE,
    STEADY,
    WILD,
    bounded,
    in_deviations,
    looks,
    misplaced,
    with_value,
)

CONSTANT, MEAN, LAST = range(3)


class ImputerState(NamedTuple):
    """Statistics of the columns; m is n if a mean fills in some column, else 0."""

    seen: Counts = field("i8[n]", "values so far")
    mean: Array = field("f8[n]", "their mean")
    last: Array = field("f8[n]", "the last one")
    squares: Array = field("f8[m]", "sums of squared deviations from the mean")
    recent_seen: Counts = field("i8[m]", "values that the recent statistics hold")
    recent_mean: Array = field("f8[m]", "their mean")
    recent_squares: Array = field("f8[m]", "sums of squared deviations from it")
    recent_wild: Counts = field("i8[m]", "how many of them were wild")


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

    An outlier does not move a mean, and after a change of unit the mean is soon that of recent values: the rules are
    those of the standardiser (`OnlineStandardizer`), with the values of each column counted by themselves.

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
    O(n) per row, 24 n bytes, or 64 n if a mean fills in some column.
    """

    def __init__(self, policies: Sequence[tuple[int, float]], watched: Sequence[int]) -> None:
        n = len(policies)
        means = any(kind == MEAN for kind, _ in policies)
        self.state = State(fields_of(ImputerState, {"n": n, "m": n if means else 0}))
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
        all are the same. If no mean filled in a column before, the statistics of all begin anew.
        """
        n = len(self._policies.kind)
        pairs = enumerate(range(n) if columns is None else columns[:n])
        known, earlier = as_views(ImputerState, self.state), as_views(ImputerState, before.state)
        if known.squares.size and not earlier.squares.size:
            return
        for new, old in pairs:
            for ours, theirs in zip(known, earlier, strict=True):
                if old is not None and ours.size:
                    ours[new] = theirs[old]

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
        apart, share = theirs.mean[some] - ours.mean[some], theirs.seen[some] / seen[some]
        ours.mean[some] += apart * share
        ours.last[some] = theirs.last[some]
        if ours.squares.size:
            ours.squares[some] += theirs.squares[some] + apart * apart * share * ours.seen[some]
            for mine, later in zip(ours[4:], theirs[4:], strict=True):  # the recent statistics
                mine[some] = later[some]
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
                known.last[j] = value
                if known.squares.shape[0]:
                    learn(value, j, known)
                else:
                    known.seen[j] += 1
                    moved = known.mean[j] + (value - known.mean[j]) / known.seen[j]
                    if math.isfinite(moved):  # the difference may overflow
                        known.mean[j] = moved
            filled[t, j] = value
        for k in range(policies.watched.shape[0]):
            filled[t, n + k] = 1.0 if math.isnan(rows[t, policies.watched[k]]) else 0.0


@fragment
def learn(value: float, j: int, known: ImputerState) -> None:
    """Add a value of column `j` to its statistics, as `standardize` does with a feature of a labelled row."""
    before = float(known.seen[j]) if known.seen[j] > 0 else math.inf
    most, wild = (ENTERS, WILD) if known.seen[j] >= STEADY else (math.inf, math.inf)
    known.seen[j] += 1
    seen, mean = known.seen[j], known.mean[j]
    deviation = math.sqrt(known.squares[j] / before)
    off = in_deviations(value - mean, deviation)
    entering = mean if abs(off) > wild else bounded(value, mean, off, most, deviation)
    known.mean[j], known.squares[j], _ = with_value(mean, known.squares[j], entering, float(seen))
    if seen < EVERY or seen % SPARSE == 0:
        off = in_deviations(value - known.mean[j], math.sqrt(known.squares[j] / float(seen)))
        known.recent_wild[j] += abs(off) > WILD
        count_recent(value, j, known)
    if looks(seen):
        recent, mean = known.recent_seen[j], known.recent_mean[j]
        lately = known.recent_squares[j] / recent
        if misplaced(seen, known.mean[j], known.squares[j], recent, mean, lately, known.recent_wild[j]):
            known.mean[j], known.squares[j] = mean, lately * seen
        known.recent_seen[j], known.recent_wild[j] = 0, 0
        known.recent_mean[j], known.recent_squares[j] = 0.0, 0.0


@fragment
def count_recent(value: float, j: int, known: ImputerState) -> None:
    """Add a value of column `j` to its recent statistics."""
    recent, mean, squares = known.recent_seen[j], known.recent_mean[j], known.recent_squares[j]
    deviation = math.sqrt(squares / recent) if recent > 0 else 0.0
    most = CLIP if recent >= STEADY else math.inf
    entering = bounded(value, mean, in_deviations(value - mean, deviation), most, deviation)
    known.recent_seen[j] += 1
    known.recent_mean[j], known.recent_squares[j], _ = with_value(mean, squares, entering, float(recent + 1))
