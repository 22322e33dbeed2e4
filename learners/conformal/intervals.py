"""Intervals around predicted targets: from the prediction minus a threshold to the prediction plus it."""

import math

from driftway.learners.conformal.emissions import Emissions
from driftway.learners.conformal.thresholds import PLACES, ROWS, THRESHOLD, Level, Thresholds, keep, learn, threshold
from driftway.learners.contract import Array, kernel
from driftway.learners.engine.update_loop import LABEL_EXPIRED


@kernel
def run_intervals(rows: Emissions, level: Level, experts: Thresholds, out: Array) -> None:
    """Emit each row's threshold, then learn from its label, or from that of an earlier row.

    The conformal score is the distance of the target from the prediction. Whether the target is covered is asked of the
    interval's ends, which are what a reader has: rounding may tell them from the distance. Shape: out f8[n], the
    threshold of each entry's row, NaN if the row has expired.
    """
    score, y, slots, waiting = rows
    for t in range(y.shape[0]):
        slot = slots[t] if slots.shape[0] > 0 else -1
        unknown, late = math.isnan(y[t]), slot >= 0
        if unknown and slot == LABEL_EXPIRED:
            out[t] = math.nan
            continue
        later, places = 0.0, experts.place
        if late and not unknown:
            emitted, places = waiting[slot, THRESHOLD], waiting[slot, PLACES:]
            later = experts.rows[0] - waiting[slot, ROWS]
        else:
            emitted = threshold(level, experts)
            experts.rows[0] += 1
            if late:
                keep(emitted, waiting[slot], experts)
        out[t] = emitted
        if not unknown:
            predicted = score[t, 0]
            covered = predicted - emitted <= y[t] <= predicted + emitted
            learn(abs(y[t] - predicted), covered, emitted, later, places, level, experts)
