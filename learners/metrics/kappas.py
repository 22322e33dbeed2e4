"""The three kappas in a window and with a fading factor; `ClassificationMetrics` has those over all rows."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.engine.array_checks import as_behaved, check_labels
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import as_views, fields_of
from driftway.learners.metrics.classification import check_memory, kappa, majority, ratio
from driftway.learners.metrics.prequential import predicted_class

HIT, NO_CHANGE_HIT, MAJORITY_HIT, HIT_BUT_FIRST, NO_CHANGE_HIT_BUT_FIRST, ROWS, ROWS_BUT_FIRST = range(7)
"""Indices of the sums: hits of the learner, of no-change and of majority; hits of the first two without the very first
row, for which no-change has no prediction; rows; rows without the first."""


class KappaMetricsState(NamedTuple):
    """State of the metrics."""

    labels: Counts = field("i8[1]", "labelled rows so far")
    last: Counts = field("i8[1]", "the last label")
    seen: Counts = field("i8[K]", "rows per class")
    ring: Counts = field("i8[window, 4]", "label, prediction, hits of no-change and majority, of the window's rows")
    in_window: Counts = field("i8[7]", "sums over the window")
    margins: Counts = field("i8[2, K]", "rows and predictions per class, in the window")
    faded: Array = field("f8[7]", "fading sums")
    faded_margins: Array = field("f8[2, K]", "fading sums of rows and predictions per class")
    counted: Counts = field("i8[7]", "what one row adds; means nothing between rows")


class KappaMetrics:
    """Kappa, kappa-temporal and kappa-M over the last rows, and over all rows with fading weights.

    Every sum of the formulas is taken over the window, or decays by the same factor per row: hits, both margins of the
    confusion matrix, and the hits of no-change and of the majority class, which keep learning from all rows.

    Parameters
    ----------
    n_classes, n_scores : int
        K and k of the learner.
    window : int
        Rows of the rolling window, >= 1. Default 1000.
    fading : float
        Weight of the past per row, 0 < fading <= 1. Default 0.999.

    Raises
    ------
    ValueError
        A window without rows, or a fading factor outside (0, 1].

    Source
    ------
    docs/algorithms/metrics.md#metrics; Bifet et al., ECML PKDD 2013 and KDD 2015; Gama, Sebastião and Rodrigues,
    Machine Learning 2013.
    """

    def __init__(self, n_classes: int, n_scores: int, window: int = 1000, fading: float = 0.999) -> None:
        check_memory(window, fading)
        self.kind = "binary" if n_scores == 1 else "multiclass"
        self.fading = float(fading)
        self.agreement = as_views(
            KappaMetricsState, State(fields_of(KappaMetricsState, {"K": n_classes, "window": window}))
        )
        # No-change and majority both start at class 1 in binary (a tie), at class 0 otherwise.
        self.agreement.last[0] = 1 if self.kind == "binary" else 0

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, k], y f8[n]; rows without a label are skipped.

        Raises
        ------
        ValueError
            A label is not a class index.
        """
        check_labels(y, len(self.agreement.seen))
        prediction = predicted_class(score, self.kind)
        count_agreement(prediction, as_behaved(y), self.kind == "binary", self.fading, self.agreement)

    def point(self) -> dict[str, Any]:
        """Return the current values, None for those not defined yet."""
        counts = self.agreement
        return {
            **kappas("window", counts.in_window.tolist(), counts.margins.tolist()),
            **kappas("fading", counts.faded.tolist(), counts.faded_margins.tolist()),
        }


def kappas(form: str, sums: Sequence[float], margins: Sequence[Sequence[float]]) -> dict[str, float | None]:
    """Return the three kappas of one set of sums, as ``FORM_kappa``, ``FORM_kappa_temporal`` and ``FORM_kappa_m``.

    Shapes: sums [7] as `tally` orders them, margins [2][K]: rows per class, predictions per class.
    """
    rows, rows_but_first = sums[ROWS], sums[ROWS_BUT_FIRST]
    accuracy = ratio(sums[HIT], rows)
    by_chance = math.fsum((a / rows) * (p / rows) for a, p in zip(*margins, strict=True)) if rows > 0 else None
    return {
        f"{form}_kappa": kappa(accuracy, by_chance),
        f"{form}_kappa_temporal": kappa(
            ratio(sums[HIT_BUT_FIRST], rows_but_first), ratio(sums[NO_CHANGE_HIT_BUT_FIRST], rows_but_first)
        ),
        f"{form}_kappa_m": kappa(accuracy, ratio(sums[MAJORITY_HIT], rows)),
    }


@fragment
def tally(counted: Counts, hit: int, no_change_hit: int, majority_hit: int, after_first: int) -> None:
    """Write what one row adds to each sum. Shapes: counted i8[7], written."""
    counted[HIT] = hit
    counted[NO_CHANGE_HIT] = no_change_hit
    counted[MAJORITY_HIT] = majority_hit
    counted[HIT_BUT_FIRST] = hit * after_first
    counted[NO_CHANGE_HIT_BUT_FIRST] = no_change_hit * after_first
    counted[ROWS] = 1
    counted[ROWS_BUT_FIRST] = after_first


@kernel
def count_agreement(prediction: Counts, y: Array, binary: bool, fading: float, memory: KappaMetricsState) -> None:
    """Add each labelled row to the window's and the fading sums, and remove the row that leaves the window.

    Shapes: prediction i8[n], y f8[n]. The window's sums are integers, so they accumulate no rounding error.
    """
    labels, last, seen, ring, in_window, margins, faded, faded_margins, counted = memory
    window = ring.shape[0]
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            continue
        slot = labels[0] % window
        if labels[0] >= window:
            label, predicted = ring[slot, 0], ring[slot, 1]
            after_first = 1 if labels[0] > window else 0
            tally(counted, 1 if label == predicted else 0, ring[slot, 2], ring[slot, 3], after_first)
            for i in range(counted.shape[0]):
                in_window[i] -= counted[i]
            margins[0, label] -= 1
            margins[1, predicted] -= 1
        label, predicted = int(y[t]), prediction[t]
        no_change_hit = 1 if last[0] == label else 0
        majority_hit = 1 if majority(seen, binary) == label else 0
        tally(counted, 1 if label == predicted else 0, no_change_hit, majority_hit, 1 if labels[0] > 0 else 0)
        for i in range(counted.shape[0]):
            in_window[i] += counted[i]
            faded[i] = counted[i] + fading * faded[i]
        margins[0, label] += 1
        margins[1, predicted] += 1
        for c in range(seen.shape[0]):
            faded_margins[0, c] *= fading
            faded_margins[1, c] *= fading
        faded_margins[0, label] += 1.0
        faded_margins[1, predicted] += 1.0
        ring[slot, 0], ring[slot, 1], ring[slot, 2], ring[slot, 3] = label, predicted, no_change_hit, majority_hit
        last[0] = label
        seen[label] += 1
        labels[0] += 1
