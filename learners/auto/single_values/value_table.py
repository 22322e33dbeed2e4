"""Which columns have values that return, and the place of each such value, where its weight stands.

All other experts take a feature for a quantity: values close together mean almost the same. Where features are
categories numbered without order, as airports or merchants are, they do not. Here a value is what it is equal to, in
the row as it came: standardised values of the same category differ from row to row, because the mean moves.

A column is a feature, or a pair of features, whose value is the pair of theirs. Which columns have weights by value is
decided by counting: those whose values return and are many. While there are none, the experts on values take no part,
and `auto` predicts what it would without them.
"""

from typing import NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch
from driftway.learners.numeric.random import GOLDEN, Words, mixed_bits

WAYS = 4
"""Places, one after the other, in which a value may stand."""
TRIAL = 1024
"""Labelled rows in which the values of each column are counted."""
FEWEST = 3
"""Different values of a feature that has weights by value; fewer are told apart by the other experts."""
KNOWN, UNKNOWN = 0.7, 0.25
"""Share of rows whose value is known from which on these weights are used, and below which the trial has failed."""
SMOOTHING = 1.0 / 256.0
"""Share of the last row in that share."""
MOST_ROWS = 64.0
"""Rows without it, on average, that a value keeps its place among others."""
ONE, HALF = np.uint64(1), np.uint64(32)


class ValueTable(NamedTuple):
    """Memory of the values of v columns, in p places."""

    key: Words = field("u8[p]", "hash of the column and its value; 0 where there is none")
    rows_of: Array = field("f8[p]", "how often the value came, less what others needed the place for")
    rows: Counts = field("i8[v]", "labelled rows in which the column was counted")
    values: Array = field("f8[v]", "values of each column that got a place")
    known: Array = field("f8[v]", "in how many rows the column's value was known, a fading mean")
    wanted: Words = scratch("u8[v]", "key of the row's value; 0 in a column that is not looked at")
    place: Array = scratch("f8[v]", "where the row's values stand, or the first place that they may have")
    found: Array = scratch("f8[v]", "1 if the value was there")
    used: Counts = scratch("i8[1]", "1 if any column of these has weights by value")


@fragment
def is_counted(table: ValueTable, j: int) -> bool:
    """Whether the values of a column get places."""
    return table.rows[j] < TRIAL or (table.values[j] >= FEWEST and table.known[j] >= UNKNOWN)


@fragment
def is_used(table: ValueTable, j: int) -> bool:
    """Whether a column has weights by value."""
    return table.values[j] >= FEWEST and table.known[j] > KNOWN


@fragment
def has_weight(table: ValueTable, j: int) -> bool:
    """Whether the row's value of a column has a weight, at `place`."""
    return table.found[j] == 1.0 and is_used(table, j)


@kernel
def write_keys(table: ValueTable, x: Array) -> None:
    """Write the keys of the row's values, the last n numbers of x, to columns of one feature each.

    Shapes: x f8[n] or f8[2 n].
    """
    n = table.wanted.shape[0]
    for j in range(n):
        table.wanted[j] = np.uint64(0)
        if is_counted(table, j):
            word = np.float64(x[x.shape[0] - n + j] + 0.0).view(np.uint64)  # -0.0 is 0
            table.wanted[j] = mixed_bits(word + np.uint64(j + 1) * GOLDEN) | ONE


@kernel
def write_pair_keys(pairs: ValueTable, table: ValueTable) -> None:
    """Write the keys of pairs of the row's values, of the first features, as far as both have weights by value."""
    i, j = 1, 0
    for c in range(pairs.wanted.shape[0]):
        pairs.wanted[c] = np.uint64(0)
        if is_used(table, i) and is_used(table, j) and is_counted(pairs, c):
            pairs.wanted[c] = mixed_bits(table.wanted[i] + mixed_bits(table.wanted[j])) | ONE
        j += 1
        if j == i:
            i, j = i + 1, 0


@kernel
def search(table: ValueTable) -> bool:
    """Find the places of the row's values by their keys; return whether any column of these is used."""
    table.used[0], buckets = 0, np.uint64(table.key.shape[0] // WAYS)
    for j in range(table.wanted.shape[0]):
        table.found[j] = 0.0
        if table.wanted[j] > 0:
            place = WAYS * int((table.wanted[j] >> HALF) % buckets)
            table.place[j] = place
            for g in range(place, place + WAYS):
                if table.key[g] == table.wanted[j]:
                    table.place[j], table.found[j] = g, 1.0
            if is_used(table, j):
                table.used[0] = 1
    return table.used[0] == 1


@kernel
def count(table: ValueTable, j: int) -> int:
    """Count the row's value of a column; return the place of a new one, whose weights begin anew, or else -1."""
    if table.wanted[j] == 0:
        return -1
    g, new = int(table.place[j]), -1
    if table.found[j] == 1.0:
        table.rows_of[g] = min(table.rows_of[g] + 1.0, MOST_ROWS)
    else:
        new = enter(table, g, j)
    table.known[j] += SMOOTHING * (table.found[j] - table.known[j])
    table.rows[j] += 1
    return new


@fragment
def enter(table: ValueTable, first: int, j: int) -> int:
    """Give a value of a column one of the places from `first` on, and return it; -1 if others need them all more."""
    g = first
    for other in range(first + 1, first + WAYS):
        if table.rows_of[other] < table.rows_of[g]:
            g = other
    table.rows_of[g] -= 1.0
    if table.rows_of[g] >= 0.0:
        return -1
    table.key[g], table.rows_of[g] = table.wanted[j], 1.0
    table.values[j] += 1.0
    return g
