"""River's nearest learner to each compared one, where there is one, and its rows per second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from river import dummy, ensemble, linear_model, naive_bayes, neighbors, optim

from tests.bench.speed import seconds

ROWS = {8: 4_000, 100: 1_000}
ROUNDS = 3

NEAREST: dict[str, Callable[[], Any]] = {
    "no_change": dummy.NoChangeClassifier,
    "gaussian_nb": naive_bayes.GaussianNB,
    "bayes_probit": linear_model.AdPredictor,
    "perceptron": linear_model.Perceptron,
    "pa1": lambda: linear_model.PAClassifier(C=0.1, mode=1),
    "ogd_logistic": lambda: linear_model.LogisticRegression(optim.SGD(0.1)),
    "knn_win": lambda: neighbors.KNNClassifier(n_neighbors=1, engine=neighbors.LazySearch(window_size=1000)),
    "dwm": lambda: ensemble.ADWINBaggingClassifier(naive_bayes.GaussianNB(), n_models=10, seed=1),
}
"""Not always the same algorithm, but the one that a user of River would choose instead."""


def rows_per_second(name: str, X: np.ndarray, y: np.ndarray) -> float:
    """Predict, then learn, row by row, as River is used; rows and labels are converted to Python objects beforehand."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    labels = y.astype(int).tolist()

    def run() -> None:
        model = NEAREST[name]()
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return len(rows) / min(seconds(run) for _ in range(ROUNDS))
