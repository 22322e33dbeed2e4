"""Model files shared by the tests of warm starts, trained by hand as `driftway train` would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftway import learners
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.fixed_scaler import FixedScaler
from driftway.worker.state import model_file
from driftway.worker.wire.events import Target

Array = NDArray[np.float64]
CHAMPION = "scaled:perceptron:ties=correct"


def perceptron(X: Array, y: Array, passes: int = 2) -> FixedScaler:
    """Return a perceptron trained with a few passes over the rows, scaled with the statistics of the whole set."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    known = ~np.isnan(y)
    Z = np.ascontiguousarray((X[known] - mean) / deviation)
    inner = learners.create("perceptron", X.shape[1], ties="correct")
    score = np.empty((len(Z), 1))
    for _ in range(passes):
        inner.predict_then_update(Z, y[known], score)
    return FixedScaler.around(inner, mean, deviation)


def written(
    path: Path, learner: Learner, names: Sequence[str] | None = None, target: Target | None = None
) -> model_file.ModelFile:
    """Write a model file to `path` and return it as loaded."""
    model_file.save(path, model_file.trained(learner, names, target or Target(), {"made_by": "a test"}))
    return model_file.load(path)


def scores(learner: Learner, X: Array, y: Array) -> Array:
    """Return the scores of the learner while it learns from the rows."""
    score = np.empty((len(X), learner.n_scores))
    learner.predict_then_update(np.ascontiguousarray(X), np.ascontiguousarray(y), score)
    return score
