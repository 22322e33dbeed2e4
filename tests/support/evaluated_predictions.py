"""Predictions of a learner as in `driftway evaluate`, without the command."""

from __future__ import annotations

import json

import numpy as np

from driftway.learners.metrics.prequential import predicted_class
from driftway.worker.evaluation.river.spec import spec_of


def accuracy_of(text: str, events: list[bytes]) -> float:
    """Prequential accuracy of a learner behind the standardiser."""
    decoded = [json.loads(event) for event in events]
    X, y = np.array([one["x"] for one in decoded]), np.array([float(one["y"]) for one in decoded])
    learner, score = spec_of(text).create(X.shape[1], standardize=True), np.empty((len(y), 1))
    learner.predict_then_update(X, y, score)
    return float(np.mean(predicted_class(score, learner.kind) == y))
