"""The confusion matrix of all rows, and metrics derived from it."""

import math
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Counts, kernel
from driftway.learners.engine.array_checks import as_behaved, check_labels
from driftway.learners.metrics.classification import ratio
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log

SENSITIVITY_WEIGHT, SPECIFICITY_WEIGHT = 0.5, 0.5
"""Weights in ``sum_sens_spec``, which `csogd1`, `csogd2` and `acog` maximise by default.

See docs/algorithms/imbalanced.md#imbalanced-classes.
"""
MISS_COST, FALSE_ALARM_COST = 0.95, 0.05
"""Weights in ``cost``: of a row of class 1 predicted as class 0, and the reverse; defaults of the same learners."""


class ConfusionMetrics:
    """Confusion matrix with precision, recall, specificity, F1, G-mean, balanced accuracy and cost.

    With two classes precision, recall, specificity and F1 are those of class 1. With more they are the plain mean over
    the classes that occur among labels or predictions, where 0 / 0 counts as 0. G-mean and balanced accuracy are the
    geometric and the plain mean of the recalls of the classes that have rows. ``sum_sens_spec`` and ``cost`` exist for
    two classes, with the weights of this module.

    Parameters
    ----------
    n_classes, n_scores : int
        K and k of the learner.

    Source
    ------
    docs/algorithms/metrics.md#metrics.
    """

    def __init__(self, n_classes: int, n_scores: int) -> None:
        self.kind = "binary" if n_scores == 1 else "multiclass"
        self.counts = np.zeros((n_classes, n_classes), np.int64)

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, k], y f8[n]; rows without a label are skipped.

        Raises
        ------
        ValueError
            A label is not a class index.
        """
        check_labels(y, len(self.counts))
        count_confusions(predicted_class(score, self.kind), as_behaved(y), self.counts)

    def point(self) -> dict[str, Any]:
        """Return the current values, None for undefined ones; ``confusion`` has a row per true class."""
        right = [int(n) for n in np.diagonal(self.counts)]
        actual, predicted = (self.counts.sum(axis=axis).tolist() for axis in (1, 0))
        rows = sum(actual)
        recalls = [hits / n for hits, n in zip(right, actual, strict=True) if n]
        if self.kind == "binary":
            values = self._of_class_1(right, actual, predicted)
        else:
            values = self._of_all_classes(right, actual, predicted)
        return {
            "mistakes": rows - sum(right),
            **values,
            "g_mean": geometric_mean(recalls),
            "balanced_accuracy": ratio(math.fsum(recalls), len(recalls)),
            "confusion": self.counts.tolist(),
        }

    @staticmethod
    def _of_class_1(right: list[int], actual: list[int], predicted: list[int]) -> dict[str, float | None]:
        sensitivity, specificity = ratio(right[1], actual[1]), ratio(right[0], actual[0])
        both = None if sensitivity is None or specificity is None else (sensitivity, specificity)
        cost = MISS_COST * (actual[1] - right[1]) + FALSE_ALARM_COST * (actual[0] - right[0])
        return {
            "precision": ratio(right[1], predicted[1]),
            "recall": sensitivity,
            "specificity": specificity,
            "f1": ratio(2 * right[1], actual[1] + predicted[1]),
            "sum_sens_spec": None if both is None else SENSITIVITY_WEIGHT * both[0] + SPECIFICITY_WEIGHT * both[1],
            "cost": cost,
            "cost_per_row": ratio(cost, sum(actual)),
        }

    @staticmethod
    def _of_all_classes(right: list[int], actual: list[int], predicted: list[int]) -> dict[str, float | None]:
        rows = sum(actual)
        occurring = [counts for counts in zip(right, actual, predicted, strict=True) if counts[1] or counts[2]]
        terms = {
            "precision": [ratio(hits, p) for hits, _, p in occurring],
            "recall": [ratio(hits, a) for hits, a, _ in occurring],
            "specificity": [ratio(rows - a - p + hits, rows - a) for hits, a, p in occurring],
            "f1": [ratio(2 * hits, a + p) for hits, a, p in occurring],
        }
        return {name: ratio(math.fsum(v or 0.0 for v in values), len(values)) for name, values in terms.items()}


def geometric_mean(values: list[float]) -> float | None:
    """Return the geometric mean of numbers >= 0, or None if there are none."""
    if not values or min(values) == 0.0:
        return 0.0 if values else None
    return mean_by_logarithms(np.array(values))


@kernel
def mean_by_logarithms(values: Array) -> float:
    """Return exp of the mean logarithm of numbers > 0."""
    total = 0.0
    for i in range(values.shape[0]):
        total += log(values[i])
    return exp(total / values.shape[0])


@kernel
def count_confusions(prediction: Counts, y: Array, counts: Counts) -> None:
    """Count each labelled row at its true and its predicted class.

    Shapes: prediction i8[n], y f8[n], counts i8[K, K].
    """
    for t in range(y.shape[0]):
        if not math.isnan(y[t]):
            counts[int(y[t]), prediction[t]] += 1
