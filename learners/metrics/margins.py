"""Metrics of binary scores beyond their sign: hinge loss, and the area under the ROC curve."""

import math
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Counts, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.metrics.classification import ratio


class MarginMetrics:
    """Mean hinge loss of all rows, and the AUC of the rows in a window.

    The AUC is the share of pairs of a row of class 1 and one of class 0 in which the first has the higher score, ties
    counting half. It uses the prequential scores of the rows in the window, and is computed on demand by sorting.

    Parameters
    ----------
    window : int
        Rows of the rolling window, >= 1. Default 1000.

    Source
    ------
    docs/algorithms/conventions.md#loss-functions and docs/algorithms/metrics.md#metrics; Mann and Whitney, Annals of
    Mathematical Statistics 1947.
    """

    def __init__(self, window: int = 1000) -> None:
        self.labels = np.zeros(1, np.int64)
        self.hinge = np.zeros(1)
        self.scores = np.zeros(window)
        self.classes = np.zeros(window, np.int64)

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, 1], y f8[n] of 0, 1 or NaN; rows without a label are skipped."""
        take_margins(as_behaved(score), as_behaved(y), self.labels, self.hinge, self.scores, self.classes)

    def point(self) -> dict[str, Any]:
        """Return ``hinge_loss``, None before the first label, and ``window_auc``, None if a class is missing in it."""
        labels = int(self.labels[0])
        rows = min(labels, len(self.scores))
        return {
            "hinge_loss": ratio(float(self.hinge[0]), labels),
            "window_auc": area(self.scores[:rows], self.classes[:rows]),
        }


def area(score: Array, label: Counts) -> float | None:
    """Return the area under the ROC curve by the rank sum, with mean ranks for ties; None if one class is missing.

    Shapes: score f8[n], label i8[n] of 0 and 1, in any order.
    """
    positives = int(label.sum())
    negatives = len(label) - positives
    if not positives or not negatives:
        return None
    _, value, count = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    rank = last - (count - 1) / 2  # mean rank of equal scores; halves are exact
    above = float(rank[value][label == 1].sum()) - positives * (positives + 1) / 2
    return above / (positives * negatives)


@kernel
def take_margins(score: Array, y: Array, labels: Counts, hinge: Array, scores: Array, classes: Counts) -> None:
    """Add each labelled row's hinge loss, and store its score and class in the ring.

    Shapes: score f8[n, 1], y f8[n], labels i8[1], hinge f8[1], scores f8[window], classes i8[window].
    """
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            continue
        s = score[t, 0]
        hinge[0] += max(0.0, 1.0 - s if y[t] == 1.0 else 1.0 + s)
        slot = labels[0] % scores.shape[0]
        scores[slot] = s
        classes[slot] = int(y[t])
        labels[0] += 1
