"""The rows that a batch procedure learns from, all in memory and standardised over the whole set."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftway.learners.contract import Array, kernel
from driftway.learners.preprocessing.fixed_scaler import scale

FIRST_ROOM = 4096
"""Rows allocated at first if their number is not known."""


@dataclass(frozen=True)
class TrainingSet:
    """The set S: rows with their labels, and the statistics that standardised their columns.

    Attributes
    ----------
    rows : f8[n, d + 1]
        Standardised features with a constant 1 last, C order; the only copy of the batch, read-only by convention.
    y : f8[n]
        Class index, 0 or 1.
    mean, deviation : f8[d]
        Statistics of each original column over all n rows (population standard deviation, 0 for a constant column).
    """

    rows: Array
    y: Array
    mean: Array
    deviation: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """d, not counting the constant 1."""
        return len(self.mean)

    @cached_property
    def digest(self) -> str:
        """blake2b of shape, rows and labels, as hex; identifies the problem."""
        digest = hashlib.blake2b(repr(self.rows.shape).encode(), digest_size=16)
        digest.update(self.rows.data)
        digest.update(self.y.data)
        return digest.hexdigest()


def collect(blocks: Iterable[tuple[Array, Array]], rows: int | None = None) -> TrainingSet:
    """Collect all blocks of a stream, then standardise in place: z = (x - mean) / deviation, or 0 if deviation is 0.

    Parameters
    ----------
    blocks : iterable of (X f8[m, d], y f8[m])
        Features, and class indices 0 or 1. Neither changed nor kept.
    rows : int or None
        Expected number of rows, if known, so that the array is allocated once. There may be more or fewer.

    Raises
    ------
    ValueError
        No rows, blocks of different widths, a feature that is not finite or too large to be squared, or a label
        other than 0 and 1 (the caller has to leave out rows without a label).
    """
    table, labels, n = np.empty((0, 0)), np.empty(0), 0
    for X, y in blocks:
        m, d = X.shape
        if n == 0:
            table, labels = np.empty((rows or FIRST_ROOM, d + 1)), np.empty(rows or FIRST_ROOM)
        if d != table.shape[1] - 1:
            raise ValueError(f"row {n} has {d} features, those before it {table.shape[1] - 1}")
        _check(X, y, n)
        if n + m > len(table):
            capacity = max(n + m, len(table) + len(table) // 8)
            # Large arrays are extended or remapped without copying, so steps are small; a new array would be a copy.
            table.resize((capacity, d + 1), refcheck=False)
            labels.resize(capacity, refcheck=False)
        table[n : n + m, :-1] = X
        labels[n : n + m] = y
        n += m
    if n == 0:
        raise ValueError("there are no rows to learn from")
    table.resize((n, table.shape[1]), refcheck=False)
    labels.resize(n, refcheck=False)
    table[:, -1] = 1.0
    mean, deviation = np.zeros(table.shape[1] - 1), np.zeros(table.shape[1] - 1)
    moments(table, mean, deviation)
    if not (np.isfinite(mean).all() and np.isfinite(deviation).all()):
        column = int(np.argmin(np.isfinite(mean) & np.isfinite(deviation)))
        raise ValueError(f"feature {column} has values too large to be standardised")
    scale(table, table, mean, deviation)  # as `scaled:` does, so that a deployed model gets the same bits
    return TrainingSet(table, labels, mean, deviation)


def _check(X: Array, y: Array, before: int) -> None:
    """Reject a block with unusable values; `before` rows preceded it."""
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise ValueError(f"row {before + int(np.argmin(finite))} has a feature that is not finite")
    known = (y == 0.0) | (y == 1.0)
    if not known.all():
        i = int(np.argmin(known))
        raise ValueError(f"row {before + i} has the label {y[i]:g}; a batch procedure takes only the classes 0 and 1")


@kernel
def moments(rows: Array, mean: Array, deviation: Array) -> None:
    """Mean and population standard deviation of all columns but the last, by Welford's recursion.

    Shapes: rows f8[n, d + 1], mean f8[d] zeros, deviation f8[d] zeros.
    """
    n, d = rows.shape[0], mean.shape[0]
    for t in range(n):
        x = rows[t]
        for j in range(d):
            off = x[j] - mean[j]
            mean[j] += off / (t + 1.0)
            deviation[j] += off * (x[j] - mean[j])
    for j in range(d):
        deviation[j] = math.sqrt(deviation[j] / n)
