"""The arguments of the loops for intervals and for sets, and how both emit a row's threshold."""

import math
from typing import NamedTuple

from driftway.learners.conformal.thresholds import PLACES, ROWS, THRESHOLD, Level, Thresholds, keep, threshold
from driftway.learners.contract import Array, Counts, fragment
from driftway.learners.engine.update_loop import LABEL_EXPIRED


class Emissions(NamedTuple):
    """Rows to emit thresholds for, and labels to learn from, in the order in which they come."""

    score: Array
    """f8[n, k]: the learner's scores, for a label that comes late those that were emitted for its row."""
    y: Array
    """f8[n]: class or target, NaN if there is none yet."""
    slot: Counts
    """i8[n] as in `driftway.learners.engine.update_loop.DelayedRows`; i8[0] if no label comes late."""
    waiting: Array
    """f8[slots, CACHED]: what is cached of the rows that wait for their labels."""


@fragment
def emitted_at(t: int, rows: Emissions, level: Level, experts: Thresholds) -> tuple[float, float, Array]:
    """Emit the threshold of entry t, or return the one that was emitted for its row; NaN if the row has expired.

    Returns what `learn` takes of it, too: the number of thresholds emitted since, and the experts' places at that time.
    """
    slot = rows.slot[t] if rows.slot.shape[0] > 0 else -1
    unknown = math.isnan(rows.y[t])
    if unknown and slot == LABEL_EXPIRED:
        return math.nan, 0.0, experts.place
    if slot >= 0 and not unknown:
        cached = rows.waiting[slot]
        return cached[THRESHOLD], experts.rows[0] - cached[ROWS], cached[PLACES:]
    emitted = threshold(level, experts)
    experts.rows[0] += 1
    if slot >= 0:
        keep(emitted, rows.waiting[slot], experts)
    return emitted, 0.0, experts.place
