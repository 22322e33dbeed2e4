"""Labels that come so many rows late, offline: the operations of a worker whose labels come late, without ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.update_loop import LABEL_EXPIRED, DelayedRows
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import Guesses
from driftway.worker.state.delayed_labels.pending_table import emitted_scores

Array = NDArray[np.float64]


class DelayedOperations(NamedTuple):
    """Operations of a batch: rows as they come, and once more where their labels do, or are given up."""

    X: Array
    y: Array
    slot: NDArray[np.int64]
    is_row: NDArray[np.bool_]


class DelaySimulator:
    """Rows of one partition that wait for their labels until `rows` later ones have been predicted.

    Parameters
    ----------
    rows : int
        >= 1.
    learner : Learner
        Who predicts them.
    """

    def __init__(self, rows: int, learner: Learner) -> None:
        self._rows, self._learner = rows, learner
        self._slots = rows + 1
        self._X, self._y = np.empty((0, learner.n_features)), np.empty(0)
        self._seen = 0
        self._score = np.zeros((self._slots, learner.n_scores))
        self._cached_predictions = learner.prediction_cache(self._slots)
        self.guesses = Guesses.allocate(self._slots)

    def arrange(self, X: Array, y: Array) -> DelayedOperations:
        """Put the next rows, and the labels that come behind each, in order. Shapes: X f8[n, d], y f8[n].

        A row that has no label is let go where it would have come, if that tells the learner anything.
        """
        n, waiting = len(y), len(self._y)
        all_X, all_y = np.concatenate([self._X, X]), np.concatenate([self._y, y])
        first = self._seen - waiting
        rows = np.arange(waiting, waiting + n)
        labels = rows - self._rows
        # Row by row: the row, then the label that is due behind it, if there is one or its absence tells something.
        which = np.stack([rows, labels], axis=1).reshape(-1)
        is_row = np.tile([True, False], n)
        due = all_y[np.maximum(which, 0)]
        there = is_row | ((which >= 0) & (self._learner.uses_unlabelled | ~np.isnan(due)))
        which, is_row = which[there], is_row[there]
        self._seen += n
        left = max(0, waiting + n - self._rows)
        self._X, self._y = all_X[left:], all_y[left:]
        known = np.where(is_row, np.nan, all_y[which])
        slot = np.where(is_row | ~np.isnan(known), (first + which) % self._slots, LABEL_EXPIRED)
        return DelayedOperations(np.ascontiguousarray(all_X[which]), known, slot, is_row)

    def run(self, steps: DelayedOperations) -> tuple[Array, Array]:
        """Predict and learn; the scores of the rows, f8[n, k], and what was emitted of each step's row."""
        score = np.empty((len(steps.y), self._learner.n_scores))
        self._learner.predict_then_update_delayed(
            steps.X, steps.y, score, DelayedRows(steps.slot, self._cached_predictions)
        )
        return score[steps.is_row], emitted_scores(steps.slot, steps.y, score, self._score)
