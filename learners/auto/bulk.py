"""Where most values of a feature are. If a few others are far away, as sentinels are, these are close together.

Features are standardised, so a far value moves all others closer together and to one side. What is known of the bulk is
therefore converted after each row to the scale of the next one. A value that only repeats the one before is no part of
the bulk: where most values are 0, the others should be told apart.
"""

import math
from typing import NamedTuple

from driftway.learners.auto.bounds import bounded
from driftway.learners.contract import Array, Counts, field, fragment, kernel

NARROW = 0.125
"""Spread of the bulk below which experts and bins follow it, in standard deviations of the feature."""
EVEN = 0.41
"""Mean distance of normal values' positions from 0 if the spread is their deviation."""
LEAST_SPREAD = 1e-6
FEWEST = 20.0
"""Changes of a feature from which on its bulk is converted to the next row's scale. One that hardly ever changes has
none, and the scale of its first values says nothing of the later ones."""
WIDEST = 10.0
"""Limit to which the standardiser clips features."""
WIDTH = 2.0
"""Range of a feature for the experts while they follow its bulk: from -2 to 2."""


class Bulk(NamedTuple):
    """The bulk of each feature's values, on the scale of the next row."""

    rows: Counts = field("i8[1]", "labelled rows")
    last: Array = field("f8[n]", "the last of them, as it came")
    changes: Array = field("f8[n]", "how many differed from the row before")
    middle: Array = field("f8[n]", "middle of the bulk")
    spread: Array = field("f8[n]", "spread of the bulk", start=1.0)


@fragment
def position(distance: float, spread: float) -> float:
    """Return a distance on a scale from -1 to 1, where the spread is at 1/2."""
    return distance / (spread + abs(distance))


@kernel
def spread_out(bulk: Bulk, z: Array, row: Array) -> None:
    """Write the row for the experts: features with a narrow bulk by their position in it, all others as they are.

    From half of `NARROW` on, the mean of both is written, so that nothing jumps. Shapes: z, row f8[n or more].
    """
    for j in range(z.shape[0]):
        row[j] = z[j]
    for j in range(bulk.spread.shape[0]):
        spread = bulk.spread[j]
        if spread < NARROW:
            share = min(2.0 * (NARROW - spread) / NARROW, 1.0)
            row[j] = (1.0 - share) * z[j] + share * WIDTH * position(z[j] - bulk.middle[j], spread)


@kernel
def follow(bulk: Bulk, x: Array) -> None:
    """Learn from a labelled row. Shapes: x f8[n], or f8[2 n] if a standardiser leaves the row as it came behind it.

    The standardiser has learned from the same rows: after z as the k-th, another value w becomes (w - z / k) / r, where
    r^2 = (1 + z^2 / k) (k - 1) / k.
    """
    n = bulk.last.shape[0]
    bulk.rows[0] += 1
    k, as_it_came = float(bulk.rows[0]), x.shape[0] - n
    for j in range(n):
        z, value = bounded(x[j], WIDEST), x[as_it_came + j]
        if value != bulk.last[j]:
            rate = 20.0 / (bulk.changes[j] + 40.0)
            bulk.changes[j] += 1.0
            u = position(z - bulk.middle[j], bulk.spread[j])
            bulk.middle[j] += rate * bulk.spread[j] * u
            bulk.spread[j] = max(bulk.spread[j] * (1.0 + rate * (abs(u) - EVEN)), LEAST_SPREAD)
        bulk.last[j] = value
        if as_it_came > 0 and bulk.changes[j] >= FEWEST:
            ratio = math.sqrt((1.0 + z * z / k) * ((k - 1.0) / k))
            bulk.middle[j] = (bulk.middle[j] - z / k) / ratio
            bulk.spread[j] = max(bulk.spread[j] / ratio, LEAST_SPREAD)
