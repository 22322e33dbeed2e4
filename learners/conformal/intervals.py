"""Intervals around predicted targets: from the prediction minus a threshold to the prediction plus it."""

import math

from driftway.learners.conformal.emissions import Emissions, emitted_at
from driftway.learners.conformal.thresholds import Level, Thresholds, learn
from driftway.learners.contract import Array, kernel


@kernel
def run_intervals(rows: Emissions, level: Level, experts: Thresholds, out: Array) -> None:
    """Emit each row's threshold, then learn from its label, or from that of an earlier row.

    The conformal score is the distance of the target from the prediction. Whether the target is covered is asked of the
    interval's ends, which are what a reader has: rounding may tell them from the distance. Shape: out f8[n], the
    threshold of each entry's row, NaN if the row has expired.
    """
    score, y = rows.score, rows.y
    for t in range(y.shape[0]):
        emitted, later, places = emitted_at(t, rows, level, experts)
        out[t] = emitted
        if not math.isnan(y[t]):
            predicted = score[t, 0]
            covered = predicted - emitted <= y[t] <= predicted + emitted
            learn(abs(y[t] - predicted), covered, emitted, later, places, level, experts)
