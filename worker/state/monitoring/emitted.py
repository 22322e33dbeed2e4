"""Quality of the predictions that a partition emitted from some row on, regardless of the models that made them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.engine.update_loop import LABEL_EXPIRED
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import Guesses
from driftway.learners.metrics.offline import OfflineMetrics
from driftway.learners.metrics.probabilities import link_of
from driftway.learners.metrics.rolling import create_metrics
from driftway.worker.state.delayed_labels.pending_rows import OrderedBatch
from driftway.worker.wire.columns import Floats, Integers

OF_PROBABILITIES = "log_loss", "brier"


class LabelledPredictions(NamedTuple):
    """Predictions whose labels are known, in the order of the labels."""

    score: Floats
    """f8[m, k], as emitted."""
    y: Floats
    """f8[m]"""
    offsets: Integers
    """i8[m], of the rows that brought the labels."""


class EmittedFigures:
    """Metrics of a champion's predictions: those of accuracy points, and those of `OfflineMetrics`.

    Labels of rows that were predicted before the first batch do not count.

    Parameters
    ----------
    learner : Learner
        The first champion.
    window : int
        Rows of the rolling window.
    waiting : int
        How many rows may wait for their labels at most; 0: labels come with their rows.
    """

    def __init__(self, learner: Learner, window: int, waiting: int = 0) -> None:
        self._metrics = create_metrics(learner.task, learner.n_classes, learner.n_scores, window)
        self._offline = OfflineMetrics(learner, window)
        self._guesses = Guesses.allocate(waiting)
        self._seen = np.zeros(waiting, np.bool_)
        """Which slots hold a row that was predicted since the first batch."""
        self._link, self._one_link = link_of(learner), True
        self.rows = 0
        """Rows predicted."""

    def observe(self, steps: OrderedBatch, score: Floats) -> LabelledPredictions:
        """Count a batch, score f8[ops, k] as emitted; return the predictions that were judged."""
        y, slot = self._counted(steps)
        (guesses,) = self._guesses.shared(len(y), 1)
        self._metrics.counter(score, y, slot, guesses)(0, len(y))
        self._offline.observe(score, y)
        self.rows += len(y) if steps.row_operations is None else len(steps.row_operations)
        known = ~np.isnan(y)
        return LabelledPredictions(score[known], y[known], steps.batch.offsets[known])

    def add(self, judged: LabelledPredictions) -> None:
        """Count predictions of another partition; then only metrics that do not depend on the order mean anything."""
        self._metrics.observe(judged.score, judged.y)
        self._offline.observe(judged.score, judged.y)

    def follow(self, learner: Learner) -> None:
        """Note that another champion goes on: its scores may not be probabilities, or others."""
        self._one_link = self._one_link and link_of(learner) == self._link

    def point(self) -> dict[str, Any]:
        """The current values, None for undefined ones."""
        rolling = self._metrics.point()
        values = {**rolling, **self._offline.point(rolling)}
        return values if self._one_link else {key: values[key] for key in values if key not in OF_PROBABILITIES}

    def _counted(self, steps: OrderedBatch) -> tuple[Floats, Integers]:
        """Labels and slots of a batch's operations, without the labels of rows predicted before the first batch."""
        y, slot = steps.batch.y, steps.slot
        if not len(slot):
            return y, slot
        late, known = slot >= 0, ~np.isnan(y)
        predicted = np.flatnonzero(late & ~known)
        first = np.full(len(self._seen), len(y))
        np.minimum.at(first, slot[predicted], predicted)
        index = np.where(late, slot, 0)
        earlier = late & known & ~self._seen[index] & (first[index] > np.arange(len(y)))
        self._seen[slot[predicted]] = True
        return np.where(earlier, np.nan, y), np.where(earlier, LABEL_EXPIRED, slot)
