"""The mean loss of recent rows and of many rows: if the first is far above the second, there was a drift."""

from typing import NamedTuple

from driftway.learners.contract import Array, field, kernel

RECENT, MANY = 0.99, 0.9995
"""Decay per row of the two means."""
FAR = 5.0
"""Standard deviations of the recent mean above that of many rows that count as a drift."""


class RecentLoss(NamedTuple):
    """Memory of the losses."""

    recent: Array = field("f8[1]", "mean loss of recent rows, as if there had been no loss before the first one")
    many: Array = field("f8[3]", "of many rows: their loss and its square, both discounted, and their weight")


@kernel
def has_risen(loss: RecentLoss, last: float) -> bool:
    """Count the last row's loss; return whether the recent losses are far above those of many rows."""
    recent, many = loss.recent, loss.many
    recent[0] += (1.0 - RECENT) * (last - recent[0])
    many[0] += (1.0 - MANY) * (last - many[0])
    many[1] += (1.0 - MANY) * (last * last - many[1])
    many[2] += (1.0 - MANY) * (1.0 - many[2])
    # Both sides times the weight: the mean is many[0] / many[2].
    rise = recent[0] * many[2] - many[0]
    variance = (many[1] * many[2] - many[0] * many[0]) * (1.0 - RECENT) / (1.0 + RECENT)
    return rise > 0.0 and rise * rise > FAR * FAR * variance
