"""River's nearest learner to each of ours, where it has one, and how many rows a second it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from river import dummy, ensemble, linear_model, multiclass, naive_bayes, neighbors, optim, stats

from tests.bench.speed import seconds

ROWS = {8: 4_000, 100: 1_000}
ROUNDS = 3

NEAREST: dict[str, Callable[[], Any]] = {
    "majority_class": dummy.PriorClassifier,
    "no_change": dummy.NoChangeClassifier,
    "running_mean": lambda: dummy.StatisticRegressor(stats.Mean()),
    "gaussian_nb": naive_bayes.GaussianNB,
    "perceptron": linear_model.Perceptron,
    "pa1": lambda: linear_model.PAClassifier(C=0.1, mode=1),
    "pa2": lambda: linear_model.PAClassifier(C=0.01, mode=2),
    "pa1_regressor": lambda: linear_model.PARegressor(C=1.0, mode=1, eps=0.1),
    "pa2_regressor": lambda: linear_model.PARegressor(C=1.0, mode=2, eps=0.1),
    "alma_gentile": linear_model.ALMAClassifier,
    "ogd_hinge": lambda: linear_model.LogisticRegression(optim.SGD(0.1), loss=optim.losses.Hinge()),
    "ogd_logistic": lambda: linear_model.LogisticRegression(optim.SGD(0.1)),
    "ogd_square": lambda: linear_model.LinearRegression(optim.SGD(0.01)),
    "ftrl_proximal": lambda: linear_model.LogisticRegression(optim.FTRLProximal()),
    "bayes_linear": linear_model.BayesianLinearRegression,
    "bayes_probit": linear_model.AdPredictor,
    "mc_softmax": linear_model.SoftmaxRegression,
    "knn_win": lambda: neighbors.KNNClassifier(n_neighbors=1, engine=neighbors.LazySearch(window_size=1000)),
    "dwm": lambda: ensemble.ADWINBaggingClassifier(naive_bayes.GaussianNB(), n_models=10, seed=1),
    "adaboost_ol": lambda: ensemble.AdaBoostClassifier(
        linear_model.LogisticRegression(optim.SGD(0.1)), n_models=20, seed=1
    ),
    "online_bagging": lambda: ensemble.BaggingClassifier(naive_bayes.GaussianNB(), n_models=10, seed=1),
    "weighted_majority": lambda: ensemble.VotingClassifier(
        [
            linear_model.LogisticRegression(optim.SGD(0.1)),
            linear_model.PAClassifier(C=0.1, mode=1),
            linear_model.AdPredictor(),
        ],
        use_probabilities=False,
    ),
    "ova:ogd_logistic": lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optim.SGD(0.1))),
}
"""Not always the same algorithm: the one that a user of River would take in its place."""


def rows_per_second(name: str, X: np.ndarray, y: np.ndarray) -> float:
    """Predict, then learn, row after row, as River is used; rows and labels are Python's own objects already."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    labels: list[Any] = y.tolist() if name in REGRESSORS else y.astype(int).tolist()

    def run() -> None:
        model = NEAREST[name]()
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return len(rows) / min(seconds(run) for _ in range(ROUNDS))


REGRESSORS = frozenset({"running_mean", "pa1_regressor", "pa2_regressor", "ogd_square", "bayes_linear"})
