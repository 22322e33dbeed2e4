"""The bin of a feature: a whole number, by which trees compare features and count rows.

Features are standardised. If a few values are far from all others, as sentinels and the largest values of a log-normal
feature are, the others are close together. So half of the bins of such a feature follow the bulk of its values. A value
that only repeats the one before is no part of the bulk: where most values are 0, the bins should tell the others apart.
"""

from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch

NARROW = 0.125
"""Spread of the bulk below which half of the bins follow it, in standard deviations of the feature."""
EVEN = 0.41
"""Mean distance of normal values' positions from 0 if the spread is their deviation."""
LEAST_SPREAD = 1e-6


class Bulk(NamedTuple):
    """Where most of the values of each feature are."""

    rows: Counts = field("i8[1]", "rows that were learned")
    last: Array = field("f8[a]", "the last of them")
    changes: Array = field("f8[a]", "how many differed from the row before")
    middle: Array = field("f8[a]", "middle of the bulk")
    spread: Array = field("f8[a]", "spread of the bulk", start=1.0)
    row: Array = scratch("f8[a]", "the row")


@fragment
def position(distance: float, spread: float) -> float:
    """Return a distance on a scale from -1 to 1, where the spread is at 1/2."""
    return distance / (spread + abs(distance))


@kernel
def quantize(bulk: Bulk, x: Array, bins: Array, count: int) -> None:
    """Write each feature's bin, 0 .. count - 1, finer near 0 than far from it, and finer in a narrow bulk.

    Shapes: x f8[n or more], bins f8[n].
    """
    for j in range(bins.shape[0]):
        bulk.row[j] = x[j]
        u, offset = position(x[j], 1.0), 0.0
        if bulk.spread[j] < NARROW:
            # Half a bin further, so that a value in the middle that is repeated stays in one bin.
            u, offset = 0.5 * (u + position(x[j] - bulk.middle[j], bulk.spread[j])), 0.5
        bins[j] = min(max(int((0.5 + 0.5 * u) * count + offset), 0), count - 1)


@kernel
def follow(bulk: Bulk) -> None:
    """Learn from the row that `quantize` has seen.

    A value that is repeated is not quite the same again, because the standardiser has learned from it: with n rows it
    moves by about z (1 + z^2) / 2n.
    """
    bulk.rows[0] += 1
    most = 0.75 / bulk.rows[0]
    for j in range(bulk.row.shape[0]):
        z, last = bulk.row[j], bulk.last[j]
        if abs(z - last) > most * abs(last) * (1.0 + last * last):
            rate = 20.0 / (bulk.changes[j] + 40.0)
            bulk.changes[j] += 1.0
            u = position(z - bulk.middle[j], bulk.spread[j])
            bulk.middle[j] += rate * bulk.spread[j] * u
            bulk.spread[j] = max(bulk.spread[j] * (1.0 + rate * (abs(u) - EVEN)), LEAST_SPREAD)
        bulk.last[j] = z
