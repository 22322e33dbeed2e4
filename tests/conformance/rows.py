"""Rows for the suite: synthetic ones with any kind of label, and hostile ones."""

from __future__ import annotations

import numpy as np

COLUMNS = (
    ("sea", 20_000),
    ("2CDT", 20_000),
    ("UG-2C-2D", 20_000),
    ("usenet2", 1_500),
    ("electricity", 20_000),
    ("spam500", 2_500),
)
"""The streams of docs/algorithms/reference-results.md#accuracy-with-the-defaults and the number of rows of each."""


def target(X: np.ndarray, kind: str, n_classes: int, rng: np.random.Generator, noise: float) -> np.ndarray:
    """Return labels of any kind that a linear model can learn."""
    d = X.shape[1]
    if kind == "multiclass":
        return (X @ rng.standard_normal((d, n_classes))).argmax(axis=1).astype(float)
    value = X @ rng.standard_normal(d) + 0.3
    if kind == "regression":
        return value + noise * rng.standard_normal(len(X))
    label = (value > 0).astype(float)
    flip = rng.random(len(X)) < noise
    return np.where(flip, 1.0 - label, label)


def rows(
    kind: str, n: int, d: int, n_classes: int = 4, unlabelled: float = 0.0, seed: int = 7
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a linear concept that changes half way; features differ in scale and location."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    half = n // 2
    y = np.concatenate([target(X[:half], kind, n_classes, rng, 0.1), target(X[half:], kind, n_classes, rng, 0.1)])
    y[rng.random(n) < unlabelled] = np.nan
    return np.ascontiguousarray(X * rng.uniform(0.5, 3.0, d) + rng.uniform(-1.0, 1.0, d)), y


def hostile(kind: str, n: int, d: int, n_classes: int = 4, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of zeros, duplicates, constant columns, 1e150, 1e-150 and 1e300, in any order, with random labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    kinds = rng.integers(0, 10, n)
    X[:, d - 1] = X[:, 0]
    X[:, d // 2] = 3.7
    X[kinds == 0] = 0.0
    X[kinds == 1] *= 1e150
    X[kinds == 2] *= 1e-150
    X[kinds == 3] = X[0]
    X[kinds == 4, 1:] = 0.0
    X[kinds == 5, 0] *= 1e150
    X[kinds == 6] *= 1e300
    if kind == "regression":
        return X, rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n)
    return X, rng.integers(0, n_classes, n).astype(float)
