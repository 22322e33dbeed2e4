"""Offline simulation of labels that arrive a number of rows late: a worker's operations, but without ids."""

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
    """Operations of a batch: each row as it arrives, and again where its label arrives or is given up."""

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
        The learner that predicts them.
    """

    def __init__(self, rows: int, learner: Learner) -> None:
        self._rows, self._learner = rows, learner
        self._slots = rows + 1
        self._X, self._y = np.empty((0, learner.n_features)), np.empty(0)
        self._seen = 0
        self._score = np.zeros((self._slots, learner.n_scores))
        self._cached_predictions = learner.prediction_cache(self._slots)
        self.guesses = Guesses.allocate(self._slots)

    @property
    def slots(self) -> int:
        """The maximum number of waiting rows, plus the next row."""
        return self._slots

    def arrange(self, X: Array, y: Array) -> DelayedOperations:
        """Arrange the next rows, and the labels due after each, as operations. Shapes: X f8[n, d], y f8[n].

        A row without a label expires where its label would have arrived, if the learner uses unlabelled rows.
        """
        n, waiting = len(y), len(self._y)
        all_X, all_y = np.concatenate([self._X, X]), np.concatenate([self._y, y])
        first = self._seen - waiting
        rows = np.arange(waiting, waiting + n)
        labels = rows - self._rows
        # For each row: the row, then the label due after it, if there is one or the learner uses its absence.
        which = np.stack([rows, labels], axis=1).reshape(-1)
        is_row = np.tile([True, False], n)
        due = all_y[np.maximum(which, 0)]
        kept = is_row | ((which >= 0) & (self._learner.uses_unlabelled | ~np.isnan(due)))
        which, is_row = which[kept], is_row[kept]
        self._seen += n
        left = max(0, waiting + n - self._rows)
        self._X, self._y = all_X[left:], all_y[left:]
        known = np.where(is_row, np.nan, all_y[which])
        slot = np.where(is_row | ~np.isnan(known), (first + which) % self._slots, LABEL_EXPIRED)
        return DelayedOperations(np.ascontiguousarray(all_X[which]), known, slot, is_row)

    def run(self, steps: DelayedOperations) -> tuple[Array, Array]:
        """Predict and learn; return the rows' scores, f8[n, k], and the score emitted for each operation's row."""
        score = np.empty((len(steps.y), self._learner.n_scores))
        self._learner.predict_then_update_delayed(
            steps.X, steps.y, score, DelayedRows(steps.slot, self._cached_predictions)
        )
        return score[steps.is_row], emitted_scores(steps.slot, steps.y, score, self._score)
