"""What the loops of intervals and of sets take."""

from typing import NamedTuple

from driftway.learners.contract import Array, Counts


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
