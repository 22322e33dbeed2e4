"""The rows that a batch procedure learns from: all of them at once, standardised over the whole set."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftway.learners.contract import Array, kernel_without_refcounts
from driftway.learners.preprocessing.fixed_scaler import scale

FIRST_ROOM = 4096
"""Rows for which there is room at first where their number is not known."""


@dataclass(frozen=True)
class TrainingSet:
    """The set S: rows with their labels, and what their columns were standardised with.

    Attributes
    ----------
    rows : f8[n, d + 1]
        Standardised features with a constant 1 last, C order: the one copy of the batch. Nobody writes into it.
    y : f8[n]
        Class index, 0 or 1.
    mean, deviation : f8[d]
        Of each column as it came, over all n rows (population standard deviation, 0 for a constant column).
    """

    rows: Array
    y: Array
    mean: Array
    deviation: Array

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """d, without the constant 1."""
        return len(self.mean)

    @cached_property
    def digest(self) -> str:
        """blake2b of shape, rows and labels, as hex: tells two problems apart."""
        digest = hashlib.blake2b(repr(self.rows.shape).encode(), digest_size=16)
        digest.update(self.rows.data)
        digest.update(self.y.data)
        return digest.hexdigest()


def collect(blocks: Iterable[tuple[Array, Array]], rows: int | None = None) -> TrainingSet:
    """Take in all blocks of a stream, then standardise in place: z = (x - mean) / deviation, 0 if that is 0.

    Parameters
    ----------
    blocks : iterable of (X f8[m, d], y f8[m])
        Features, and class indices 0 or 1. Not changed, and not kept.
    rows : int or None
        How many rows will come, if that is known: the array is then made once. More or fewer may come.

    Raises
    ------
    ValueError
        No rows, blocks of different widths, a feature that is not finite or too large to be squared, or a label
        other than 0 and 1 (rows without a label are the caller's to leave out).
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
            room = max(n + m, len(table) + len(table) // 8)
            # Large memory is extended or moved without copying, hence by small shares; a new array is a second copy.
            table.resize((room, d + 1), refcheck=False)
            labels.resize(room, refcheck=False)
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
    scale(table, table, mean, deviation)  # that of `scaled:`, so that a deployed model sees these bits
    return TrainingSet(table, labels, mean, deviation)


def _check(X: Array, y: Array, before: int) -> None:
    """Refuse a block whose numbers cannot be used; `before` rows came before it."""
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise ValueError(f"row {before + int(np.argmin(finite))} has a feature that is not finite")
    known = (y == 0.0) | (y == 1.0)
    if not known.all():
        i = int(np.argmin(known))
        raise ValueError(f"row {before + i} has the label {y[i]:g}; a batch procedure tells the classes 0 and 1 apart")


@kernel_without_refcounts
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
