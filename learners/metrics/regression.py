"""Rolling errors, and their advantage over the running mean (docs/algorithms/metrics.md#metrics)."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, field, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of
from driftway.learners.metrics.classification import NO_GUESSES, NO_SLOTS, Guesses, check_memory, ratio, window_rows

TINY = 1e-300
"""Squared error of the running mean below which r2 is not defined: docs/algorithms/metrics.md#metrics."""


class RegressionMetricsState(NamedTuple):
    """State of the metrics."""

    labels: Counts = field("i8[1]", "labelled rows so far")
    mean: Array = field("f8[1]", "running mean of the targets")
    totals: Array = field(
        "f8[4]",
        "squared error, absolute error; squared error of learner and of running mean without the first row, which has "
        "no mean yet",
    )
    fading: Array = field("f8[3]", "fading sums of squared error, absolute error, rows")
    errors: Array = field("f8[window]", "prediction minus target of the window's rows, a ring")
    mean_errors: Array = field("f8[window]", "running mean minus target, nan for the very first row")


class RegressionMetrics:
    """Total, windowed and fading squared and absolute error, and r2 against the running mean.

    Each `point` recomputes the window's sums from its rows: running sums would accumulate rounding errors with each row
    that leaves, and a single huge error would spoil them permanently.

    Parameters
    ----------
    window : int
        Rows of the rolling window, >= 1. Default 1000.
    fading : float
        Weight of the past per row, 0 < fading <= 1. Default 0.999.

    Raises
    ------
    ValueError
        A window without rows, or a fading factor outside (0, 1].
    """

    def __init__(self, window: int = 1000, fading: float = 0.999) -> None:
        check_memory(window, fading)
        self.window, self.fading = window, float(fading)
        self.state = State(fields_of(RegressionMetricsState, {"window": window}))
        self._memory = as_views(RegressionMetricsState, self.state)

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        check_ranges(RegressionMetricsState, {"window": self.window}, State(self.state.fields, memory))

    def continue_from(self, before: "RegressionMetrics") -> bool:
        """As `driftway.learners.metrics.classification.ClassificationMetrics.continue_from`."""
        labels = int(before.state["labels"][0])
        if min(labels, self.window) > before.window:
            return False
        rows = window_rows(labels, self.window)
        for name in self.state:
            if name in ("errors", "mean_errors"):
                self.state[name][:] = 0.0
                self.state[name][rows % self.window] = before.state[name][rows % before.window]
            else:
                self.state[name][:] = before.state[name]
        return True

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, 1], y f8[n]; rows without a label are skipped."""
        self.counter(score, y)(0, len(y))

    def counter(
        self, score: Array, y: Array, slot: Counts = NO_SLOTS, guesses: Guesses = NO_GUESSES
    ) -> Callable[[int, int], None]:
        """Prepare a batch as for `observe` and return ``count(start, end)``, which adds that range of its rows.

        With delayed labels, slot i8[n] is that of `driftway.learners.engine.update_loop.DelayedRows`; the running mean
        is then that from before the delay, too.
        """
        scores, labels = as_behaved(score), as_behaved(y)

        def count(start: int, end: int) -> None:
            of, seen = guesses.of, guesses.seen[start:end]
            batch = ForecastRows(scores[start:end], labels[start:end], slot[start:end], of, seen)
            sum_errors(batch, guesses.leads, self.fading, self._memory)

        return count

    def point(self) -> dict[str, Any]:
        """Return the current values as plain numbers; None if not defined yet, or if a sum has overflowed."""
        s = self.state
        labels = int(s["labels"][0])
        rows = min(labels, self.window)
        squared, absolute, squared_but_first, mean_squared = (float(v) for v in s["totals"])
        faded_squared, faded_absolute, weight = (float(v) for v in s["fading"])
        errors, mean_errors = s["errors"][:rows], s["mean_errors"][:rows]
        with np.errstate(over="ignore"):
            squares = errors * errors
            known = ~np.isnan(mean_errors)
            window_mean_squared = float((mean_errors[known] ** 2).sum())
            values = {
                "mse": ratio(squared, labels),
                "mae": ratio(absolute, labels),
                "r2": explained(squared_but_first, mean_squared),
                "window_mse": ratio(float(squares.sum()), rows),
                "window_mae": ratio(float(np.abs(errors).sum()), rows),
                "window_r2": explained(float(squares[known].sum()), window_mean_squared),
                "fading_mse": ratio(faded_squared, weight),
                "fading_mae": ratio(faded_absolute, weight),
            }
        finite = {name: v if v is not None and math.isfinite(v) else None for name, v in values.items()}
        return {"labels": labels, "window": rows, **finite}


def explained(squared: float, mean_squared: float) -> float | None:
    """Return r2, 1 minus the squared error relative to the running mean's; None if that has none."""
    return 1.0 - squared / mean_squared if mean_squared >= TINY else None


class ForecastRows(NamedTuple):
    """The rows for `sum_errors`."""

    score: Array
    """f8[n, 1]"""
    y: Array
    """f8[n]"""
    slot: Counts
    """i8[n], or i8[0] without delayed rows"""
    guess: Array
    """f8[slots, 2]"""
    seen: Array
    """f8[n, 2]"""


@kernel
def sum_errors(batch: ForecastRows, leads: bool, fading: float, memory: RegressionMetricsState) -> None:
    """Add each labelled row's error to the totals and the fading sums, and store it in the ring."""
    score, y, slots, guess, seen = batch
    waiting = slots.shape[0] > 0
    labels, mean, totals, faded, errors, mean_errors = memory
    window = errors.shape[0]
    for t in range(y.shape[0]):
        late = waiting and slots[t] >= 0
        if math.isnan(y[t]):
            if late and leads:
                guess[slots[t], 0] = mean[0] if labels[0] > 0 else math.nan
            continue
        if late and leads:
            seen[t, 0] = guess[slots[t], 0]
        error = score[t, 0] - y[t]
        mean_error = seen[t, 0] - y[t] if late else mean[0] - y[t]
        known = labels[0] > 0 and not math.isnan(mean_error)
        slot = labels[0] % window
        errors[slot] = error
        mean_errors[slot] = mean_error if known else math.nan
        totals[0] += error * error
        totals[1] += abs(error)
        if known:
            totals[2] += error * error
            totals[3] += mean_error * mean_error
        faded[0] = error * error + fading * faded[0]
        faded[1] = abs(error) + fading * faded[1]
        faded[2] = 1.0 + fading * faded[2]
        labels[0] += 1
        mean[0] -= (mean[0] - y[t]) / labels[0]
