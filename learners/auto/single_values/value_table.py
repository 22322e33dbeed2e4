"""Which features have single values that return, and the place of each such value, where its weight stands.

All other experts take a feature for a quantity: values close together mean almost the same. Where features are
categories numbered without order, as airports or merchants are, they do not. Here a value is what it is equal to, in
the row as it came: standardised values of the same category differ from row to row, because the mean moves.

Which features have weights by value is decided by counting: those whose values return and are many. While there are
none, the experts on values take no part, and `auto` predicts what it would without them.
"""

from typing import NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.random import GOLDEN, Words, mixed_bits

PLACES = 4096
"""Values that have a weight, of all features together."""
WEIGHTS = 2**18
"""Largest number of weights; with many classes there are fewer places."""
WAYS = 4
"""Places, one after the other, in which a value may stand."""
TRIAL = 1024
"""Labelled rows in which the values of each feature are counted."""
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
    """Memory of the values of n features; p places."""

    key: Words = field("u8[p]", "hash of the feature and its value; 0 where there is none")
    rows_of: Array = field("f8[p]", "how often the value came, less what others needed the place for")
    rows: Counts = field("i8[1]", "labelled rows")
    values: Array = field("f8[v]", "values of each feature that got a place")
    known: Array = field("f8[v]", "in how many rows the feature's value was known, a fading mean")
    place: Array = scratch("f8[v]", "where the row's values stand, or the first place that they may have")
    found: Array = scratch("f8[v]", "1 if the value was there")
    used: Array = scratch("f8[1]", "features of the row with weights by value")


def sizes(n: int, weights: int, used: bool) -> Sizes:
    """Return the lengths in the shapes for n features and so many weights of each value."""
    places = min(PLACES, max(WEIGHTS // weights, WAYS)) // WAYS * WAYS
    return {"p": places * used, "v": n * used}


@fragment
def is_counted(table: ValueTable, j: int) -> bool:
    """Whether the values of a feature get places."""
    return table.rows[0] < TRIAL or (table.values[j] >= FEWEST and table.known[j] >= UNKNOWN)


@fragment
def is_used(table: ValueTable, j: int) -> bool:
    """Whether a feature has weights by value."""
    return table.values[j] >= FEWEST and table.known[j] > KNOWN


@fragment
def has_weight(table: ValueTable, j: int) -> bool:
    """Whether the row's value of a feature has a weight, at `place`."""
    return table.found[j] == 1.0 and is_used(table, j)


@fragment
def key_of(value: float, j: int) -> np.uint64:
    """Return a hash of a feature and its value, which is never 0."""
    word = np.float64(value + 0.0).view(np.uint64)  # -0.0 is 0
    return np.uint64(mixed_bits(word + np.uint64(j + 1) * GOLDEN) | ONE)


@kernel
def search(table: ValueTable, x: Array) -> bool:
    """Find the places of the row's values, which are the last n numbers of x; return whether any feature is used.

    Shapes: x f8[n] or f8[2 n].
    """
    n, buckets = table.known.shape[0], np.uint64(table.key.shape[0] // WAYS)
    first, table.used[0] = x.shape[0] - n, 0.0
    for j in range(n):
        table.found[j] = 0.0
        if is_counted(table, j):
            key = key_of(x[first + j], j)
            place = WAYS * int((key >> HALF) % buckets)
            table.place[j] = place
            for g in range(place, place + WAYS):
                if table.key[g] == key:
                    table.place[j], table.found[j] = g, 1.0
            table.used[0] += 1.0 if is_used(table, j) else 0.0
    return table.used[0] > 0.0


@kernel
def count(table: ValueTable, x: Array, j: int) -> int:
    """Count the row's value of feature j; return the place of a new one, whose weights begin anew, or else -1.

    Shapes: x as `search` had it.
    """
    if not is_counted(table, j):
        return -1
    g, new = int(table.place[j]), -1
    if table.found[j] == 1.0:
        table.rows_of[g] = min(table.rows_of[g] + 1.0, MOST_ROWS)
    else:
        new = enter(table, g, key_of(x[x.shape[0] - table.known.shape[0] + j], j), j)
    table.known[j] += SMOOTHING * (table.found[j] - table.known[j])
    return new


@fragment
def enter(table: ValueTable, first: int, key: np.uint64, j: int) -> int:
    """Give a value of feature j one of the places from `first` on, and return it; -1 if others need them all more."""
    g = first
    for other in range(first + 1, first + WAYS):
        if table.rows_of[other] < table.rows_of[g]:
            g = other
    table.rows_of[g] -= 1.0
    if table.rows_of[g] >= 0.0:
        return -1
    table.key[g], table.rows_of[g] = key, 1.0
    table.values[j] += 1.0
    return g
