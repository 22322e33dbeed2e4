"""A row as trees see it: raw values, bounded by the statistics of earlier rows, and ids of nominal columns.

Splits compare raw values, so thresholds keep their meaning while means drift. What the standardiser does for other
learners is done here with the same statistics and bounds (docs/decisions/0022): a value more than 10 deviations from
the mean is moved there, one beyond 300 is replaced by the mean.
"""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, kernel, scratch
from driftway.learners.numeric.random import Words, randint
from driftway.learners.other_tasks.ids import index_of
from driftway.learners.preprocessing import standardizer
from driftway.learners.preprocessing.standardizer import (
    ENTERS,
    EVERY,
    FIRST_LOOK,
    LOOK,
    SPARSE,
    STEADY,
    WILD,
    Statistics,
    count_in,
    in_deviations,
    replace,
    with_value,
)

LARGEST = 1e100
"""Bound of values and targets whose scale is not known yet; their squares, summed, stay finite."""
VALUES = 32
"""Ids of a nominal column that are told apart: 0..30; all others count as one."""


class Row(NamedTuple):
    """The row that is scored or learned."""

    nominal: Array
    """f8[d]: 1 for a nominal column, 0 for a numeric one."""
    x: Array = scratch("f8[d]", "values, and ids below VALUES of nominal columns")
    scale: Array = scratch("f8[d]", "standard deviations of the columns over all rows; 0 for a constant one")
    z: Array = scratch("f8[d]", "standardised values; 0 for nominal columns")


@kernel
def read(raw: Array, known: Statistics, row: Row) -> None:
    """Write the row as trees see it, by the statistics of the labelled rows before it. Shapes: raw f8[d]."""
    before = float(known.rows[0]) if known.rows[0] > 0 else math.inf
    wild = WILD if known.rows[0] >= STEADY else math.inf
    for j in range(raw.shape[0]):
        if row.nominal[j] > 0.0:
            category = index_of(raw[j], VALUES - 1)
            row.x[j], row.z[j], row.scale[j] = (category if category >= 0 else VALUES - 1), 0.0, 1.0
        else:
            deviation = math.sqrt(known.squares[j] / before)
            off = in_deviations(raw[j] - known.mean[j], deviation)
            row.z[j] = standardizer.feature(off, wild)
            value = raw[j] if row.z[j] == off else known.mean[j] + row.z[j] * deviation
            row.x[j], row.scale[j] = min(max(value, -LARGEST), LARGEST), min(deviation, LARGEST)


@kernel
def count_row(raw: Array, known: Statistics) -> None:
    """Add a labelled row to the statistics, as the standardiser does. Shapes: raw f8[d]."""
    before = float(known.rows[0]) if known.rows[0] > 0 else math.inf
    most, wild = (ENTERS, WILD) if known.rows[0] >= STEADY else (math.inf, math.inf)
    known.rows[0] += 1
    seen, now, refused = known.rows[0], float(known.rows[0]), False
    for j in range(raw.shape[0]):
        m, q = known.mean[j], known.squares[j]
        deviation = math.sqrt(q / before)
        off = in_deviations(raw[j] - m, deviation)
        value = m if abs(off) > wild else standardizer.bounded(raw[j], m, off, most, deviation)
        known.mean[j], known.squares[j], finite = with_value(m, q, value, now)
        refused |= not finite
    known.skipped[0] += refused
    if seen < EVERY or seen % SPARSE == 0:
        for j in range(raw.shape[0]):
            off = in_deviations(raw[j] - known.mean[j], math.sqrt(known.squares[j] / now))
            known.recent_wild[j] += abs(off) > WILD
        count_in(raw, known.recent_rows, known.recent_mean, known.recent_squares)
    if seen % LOOK == 0 or (FIRST_LOOK <= seen < LOOK and seen & (seen - 1) == 0):
        known.replaced[0] += replace(known)
        known.recent_rows[0] = 0
        for j in range(raw.shape[0]):
            known.recent_mean[j] = known.recent_squares[j] = 0.0
            known.recent_wild[j] = 0


@kernel
def draw(generator: Words, order: Array, n: int, m: int) -> None:
    """Move m of the first n items, drawn at random without replacement, to the front; none if m = n.

    Shapes: generator u8[4], order f8[d].
    """
    if m < n:
        for a in range(m):
            b = a + randint(generator, n - a)
            kept = order[a]
            order[a] = order[b]
            order[b] = kept


@kernel
def choose(generator: Words, columns: Counts, chosen: Counts, order: Array) -> None:
    """Choose as many of the columns as there is room for: all, or some at random.

    Shapes: generator u8[4], columns i8[q], chosen i8[m], order f8[d].
    """
    q, m = columns.shape[0], chosen.shape[0]
    for j in range(q):
        order[j] = columns[j]
    draw(generator, order, q, m)
    for a in range(m):
        chosen[a] = int(order[a])


@kernel
def choose_pool(generator: Words, pool: Counts, order: Array) -> None:
    """Choose the columns of a tree, from all. Shapes: generator u8[4], pool i8[q], order f8[d]."""
    d, q = order.shape[0], pool.shape[0]
    for j in range(d):
        order[j] = j
    draw(generator, order, d, q)
    for j in range(q):
        pool[j] = int(order[j])
