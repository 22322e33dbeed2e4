"""Learners that run over rows: their scores, each of which is computed before the row's label is learned."""

from __future__ import annotations

import numpy as np

from driftway import learners
from driftway.learners.engine.state import Array
from driftway.learners.learner import CLASSIFICATION, Learner


def scores(learner: Learner, X: Array, y: Array) -> Array:
    """Return the scores of rows that the learner learns: f8[n], or f8[n, K] with a score for each class."""
    score = np.empty((len(X), learner.n_scores))
    learner.predict_then_update(np.ascontiguousarray(X, float), np.asarray(y, float), score)
    return score[:, 0] if learner.n_scores == 1 else score


def learned(
    name: str, X: Array, y: Array, task: str = CLASSIFICATION, n_classes: int = 2, **parameters: object
) -> tuple[Learner, Array]:
    """Return a learner that has learned the rows, and its scores as of `scores`."""
    learner = learners.create(name, X.shape[1], n_classes, task, **parameters)
    return learner, scores(learner, X, y)
