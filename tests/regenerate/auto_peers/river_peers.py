"""River's learners with its defaults, but ensembles of 10; linear ones and neighbours behind its standardiser.

A last label is a nominal column for trees, and a column for each class for all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import river
from river import ensemble, forest, linear_model, multiclass, neighbors, preprocessing, rules, tree

LIBRARY = f"River {river.__version__}"
TEN = {"n_models": 10, "seed": 1}


def scaled(learner: Any) -> Any:
    return preprocessing.StandardScaler() | learner


def linear(learner: Any, n_classes: int) -> Any:
    """A learner of two classes, for each class against all others if there are more."""
    return scaled(learner if n_classes == 2 else multiclass.OneVsRestClassifier(learner))


def logistic(n_classes: int) -> Any:
    return scaled(linear_model.LogisticRegression() if n_classes == 2 else linear_model.SoftmaxRegression())


CLASSES: dict[str, Callable[[int], Any]] = {
    "River LogReg": logistic,
    "River PA": lambda n_classes: linear(linear_model.PAClassifier(), n_classes),
    "River ALMA": lambda n_classes: linear(linear_model.ALMAClassifier(), n_classes),
    "River HAT": lambda _: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    "River kNN": lambda _: scaled(neighbors.KNNClassifier()),
    "River ARF": lambda _: forest.ARFClassifier(**TEN),
    "River SRP": lambda _: ensemble.SRPClassifier(**TEN),
}
TARGETS: dict[str, Callable[[int], Any]] = {
    "River LinReg": lambda _: scaled(linear_model.LinearRegression()),
    "River HAT": lambda _: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
    "River AMRules": lambda _: rules.AMRules(),
    "River kNN": lambda _: scaled(neighbors.KNNRegressor()),
    "River ARF": lambda _: forest.ARFRegressor(**TEN),
}
TREES = ("River HAT", "River ARF", "River SRP")
ONLY_CLASSES = ("River PA", "River ALMA")
"""Without probabilities."""


class RiverPeer:
    """One of River's learners."""

    def __init__(self, name: str, n_classes: int) -> None:
        self.name, self.n_classes = name, n_classes
        self.learner = (CLASSES if n_classes else TARGETS)[name](n_classes)

    def prepare(self, X: np.ndarray, y: np.ndarray, recent: np.ndarray | None) -> None:
        names = [f"x{j}" for j in range(X.shape[1])]  # the forests sort them, so all are of one type
        self.rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
        self.labels = y.astype(int).tolist() if self.n_classes else y.tolist()
        for i, before in enumerate([] if recent is None else recent.tolist()):
            self.rows[i] |= self.columns(before)

    def columns(self, before: list[float]) -> dict[str, Any]:
        """Return the recent labels of a row as features."""
        if not self.n_classes:
            return {f"recent{j}": value for j, value in enumerate(before)}
        if self.name in TREES:
            return {"recent": f"class {before[0]:g}"}
        return {f"recent{c}": float(before[0] == c) for c in range(self.n_classes)}

    def step(self, i: int) -> np.ndarray | float:
        row, label = self.rows[i], self.labels[i]
        answer = self.predict(row)
        self.learner.learn_one(row, label)
        return answer

    def predict(self, row: dict[Any, Any]) -> np.ndarray | float:
        if not self.n_classes or self.name in ONLY_CLASSES:
            return float(self.learner.predict_one(row) or 0)
        votes = self.learner.predict_proba_one(row)
        return np.array([votes.get(c, 0.0) for c in range(self.n_classes)])


def peer(name: str, n_classes: int) -> RiverPeer:
    """Return a peer by its name; 0 classes: targets."""
    return RiverPeer(name, n_classes)
