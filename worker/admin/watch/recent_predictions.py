"""Metrics that accuracy points do not have, computed from a champion's newest predictions and their labels."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from driftway.learners.metrics.confusion import ConfusionMetrics
from driftway.learners.metrics.margins import area
from driftway.worker.errors import UsageFailure

WINDOW = 1000
"""Labelled predictions of a partition that are counted."""
OF_CONFUSION = {
    "precision": "precision", "recall": "recall", "specificity": "specificity", "f1": "f1", "g-mean": "g_mean",
    "balanced-accuracy": "balanced_accuracy",
}  # fmt: skip
"""Name as asked -> name in `ConfusionMetrics.point`."""
COMPUTED = {**{name: f"window_{field}" for name, field in OF_CONFUSION.items()}, "auc": "window_auc"}
"""Name as asked -> name of the metric that is computed."""
NO_METRICS = {"partition", "offset", "t", "plan"}
"""Fields of points that are no metrics."""
OF_POINTS = {"log-loss": "window_calibrated_log_loss", "brier": "window_calibrated_brier"}
"""Name as asked -> field of the accuracy points."""


def fields_asked(names: str | None) -> list[str]:
    """Return the fields of rows that names, separated by commas, ask for: of COMPUTED, OF_POINTS or accuracy points."""
    words = [word.strip() for word in (names or "").split(",")]
    return list(dict.fromkeys({**COMPUTED, **OF_POINTS}.get(word, word) for word in words if word))


def check_asked(fields: Collection[str], points: Collection[Mapping[str, Any]]) -> None:
    """Raise UsageFailure if a field is in no point, though there are points.

    Raises
    ------
    UsageFailure
        It is none of an accuracy point's fields, or one of classes where targets are numbers.
    """
    if not points or not any(points):
        return
    values = [pair for point in points for pair in point.items()]
    known = {name for name, value in values if value is None or isinstance(value, int | float)} - NO_METRICS
    if any("window_accuracy" in point for point in points):
        known |= {*COMPUTED.values(), *OF_POINTS.values()}
    names = {field: name for name, field in {**COMPUTED, **OF_POINTS}.items()}
    for field in fields:
        if field not in known:
            there = ", ".join(sorted(names.get(one, one) for one in known))
            raise UsageFailure(f"there is no metric {names.get(field, field)}; there are {there}")


class RecentPredictions:
    """The newest predictions of each partition whose label came with the event.

    Classes keep their names on the wire. With two of them class 1 is the one that is predicted at scores >= 0.
    """

    def __init__(self) -> None:
        self._kept: dict[int, deque[tuple[Any, Any, Any]]] = {}
        """Partition -> score, class predicted, label."""
        self._newest: dict[int, int] = {}
        """Partition -> input offset of the newest one that was added."""

    def add(self, partition: int, offset: int, score: Any, prediction: Any, label: Any) -> None:
        """Add a prediction; one without a label, or that was added before, does not count."""
        unknown = label is None or (isinstance(label, float) and math.isnan(label))
        if unknown or offset <= self._newest.get(partition, -1):
            return
        self._newest[partition] = offset
        if isinstance(score, list) and len(score) == 1:
            score = score[0]
        self._kept.setdefault(partition, deque(maxlen=WINDOW)).append((score, prediction, label))

    def figures(self, partition: int) -> dict[str, float | None]:
        """Return the metrics of COMPUTED over the kept rows, None for undefined ones; none if no row is kept."""
        kept = self._kept.get(partition)
        if not kept:
            return {}
        scores, predictions, labels = zip(*kept, strict=True)
        binary = not isinstance(scores[0], list)
        classes = _two_classes(kept) if binary else _classes(predictions, labels)
        index = {name: i for i, name in enumerate(classes)}
        actual = np.array([index[_name(label)] for label in labels])
        metrics = ConfusionMetrics(len(classes), 1 if binary else len(classes))
        np.add.at(metrics.counts, (actual, np.array([index[_name(one)] for one in predictions])), 1)
        point = metrics.point()
        found = {f"window_{field}": point[field] for field in OF_CONFUSION.values()}
        return {**found, "window_auc": area(np.array(scores, np.float64), actual) if binary else None}


def _two_classes(kept: Collection[tuple[Any, Any, Any]]) -> list[str]:
    """Return the names of class 0 and class 1; of one that was neither predicted nor a label, an empty one."""
    sides: list[str] = ["", ""]
    for score, prediction, _ in kept:
        sides[score >= 0] = _name(prediction)
    for _, _, label in kept:
        if _name(label) not in sides:
            sides[sides.index("")] = _name(label)
    return sides


def _classes(*columns: tuple[Any, ...]) -> list[str]:
    return sorted({_name(one) for column in columns for one in column})


def _name(label: Any) -> str:
    """Return a class as text: a packed prediction has its index as another type of number than the label."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
