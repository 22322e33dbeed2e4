"""Convert synthetic rows to the input forms of some learners: ids, several tasks, pairs, triplets."""

from __future__ import annotations

import numpy as np

IDS = 4
"""Number of ids of users, items and tasks; some rows have others, or none."""


def ids(column: np.ndarray) -> np.ndarray:
    """Turn a column into whole numbers, mostly below IDS; wild values stay as they are."""
    return np.where(np.abs(column) < 100.0, np.floor(np.abs(column)), column)


def ratings(X: np.ndarray) -> np.ndarray:
    """Return a user and an item per row."""
    return np.column_stack([ids(X[:, 0]), ids(X[:, -1])])


def tasks(X: np.ndarray) -> np.ndarray:
    """Return a task and features per row."""
    return np.column_stack([ids(X[:, 0]) % IDS, X])


def pairs(X: np.ndarray) -> np.ndarray:
    """Return each item with the previous one."""
    return np.hstack([X, np.roll(X, 1, axis=0)])


def triplets(X: np.ndarray) -> np.ndarray:
    """Return each item with the previous two."""
    return np.hstack([X, np.roll(X, 1, axis=0), np.roll(X, 2, axis=0)])
