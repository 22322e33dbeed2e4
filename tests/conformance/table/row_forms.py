"""Made-up rows in the forms that some learners read: ids, several tasks, pairs, triplets."""

from __future__ import annotations

import numpy as np

IDS = 4
"""Ids of users, items and tasks that made-up rows have; some rows have others, or none."""


def ids(column: np.ndarray) -> np.ndarray:
    """A column as whole numbers, mostly below IDS; what is wild stays as it is."""
    return np.where(np.abs(column) < 100.0, np.floor(np.abs(column)), column)


def ratings(X: np.ndarray) -> np.ndarray:
    """User and item."""
    return np.column_stack([ids(X[:, 0]), ids(X[:, -1])])


def tasks(X: np.ndarray) -> np.ndarray:
    """A task and features."""
    return np.column_stack([ids(X[:, 0]) % IDS, X])


def pairs(X: np.ndarray) -> np.ndarray:
    """Each item beside the one before it."""
    return np.hstack([X, np.roll(X, 1, axis=0)])


def triplets(X: np.ndarray) -> np.ndarray:
    """Each item beside the two before it."""
    return np.hstack([X, np.roll(X, 1, axis=0), np.roll(X, 2, axis=0)])
