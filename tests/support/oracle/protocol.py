"""Run an oracle: score each row, then learn from its label, if it has one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol


class Oracle(Protocol):
    """A learner without arrays, created as Oracle(n_features, n_classes, kind, **parameters)."""

    def score(self, x: Sequence[float]) -> list[float]: ...

    def learn(self, x: Sequence[float], y: float) -> None: ...


def run(oracle: Oracle, X: Sequence[Sequence[float]], y: Sequence[float]) -> list[list[float]]:
    """Scores of a prequential run over all rows."""
    scores = []
    for x, label in zip(X, y, strict=True):
        scores.append(oracle.score(x))
        if not math.isnan(label):
            oracle.learn(x, label)
    return scores


def inner(a: Sequence[float], b: Sequence[float]) -> float:
    """Inner product, summed in order."""
    total = 0.0
    for p, q in zip(a, b, strict=True):
        total = total + p * q
    return total


def extended(x: Sequence[float], intercept: bool) -> list[float]:
    """The row, with the constant 1 appended if there is an intercept."""
    return [*x, 1.0] if intercept else list(x)


def sign_of(y: float) -> float:
    """Class index 0 or 1 as -1 or +1."""
    return {0.0: -1.0, 1.0: 1.0}[y]
