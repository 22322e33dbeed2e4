"""Predict each row, then learn it: the figures of a peer at several numbers of rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from driftway.learners.metrics.probabilities import CLAMP

CHECKPOINTS = (2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
"""Numbers of rows after which a run may end that takes too long; `auto` is measured there, too."""

Array = np.ndarray


class Peer(Protocol):
    """A learner of another library, and its way of reading rows."""

    def prepare(self, X: Array, y: Array, recent: Array | None) -> None:
        """Start on the rows X f8[n, d] with labels y f8[n]; `recent` f8[n, k] has the labels before each row."""

    def step(self, i: int) -> Array | float:
        """Predict row i, then learn it. Return votes f8[<= K], not normalized, or a class, or a value."""


class Result(NamedTuple):
    """Figures over the first `rows` rows: accuracy in per cent and log loss, or MSE; None: not defined."""

    rows: int
    accuracy: float | None
    log_loss: float | None
    mse: float | None
    seconds: float


def recent_labels(y: Array, n_classes: int) -> Array:
    """Return each row's last label f8[n, 1], or with 0 classes its last three targets f8[n, 3]; 0 before the first."""
    lags = 1 if n_classes else 3
    recent = np.zeros((len(y), lags))
    for lag in range(1, lags + 1):
        recent[lag:, lag - 1] = y[:-lag]
    return recent


def run(peer: Peer, X: Array, y: Array, n_classes: int, with_recent: bool) -> Iterator[Result]:
    """Yield the figures at every checkpoint and at the end."""
    started = time.process_time()
    peer.prepare(X, y, recent_labels(y, n_classes) if with_recent else None)
    right, loss, squared, likely = 0, 0.0, 0.0, True
    for rows, label in enumerate(y.tolist(), start=1):
        answer = peer.step(rows - 1)
        if not n_classes:
            squared += (float(answer) - label) ** 2
        elif isinstance(answer, np.ndarray):
            p, chosen = normalized(answer, n_classes)
            right += chosen == label
            loss -= np.log(min(max(p[int(label)], CLAMP), 1.0 - CLAMP))
        else:
            right += answer == label
            likely = False
        if rows == len(y) or rows in CHECKPOINTS:
            seconds = time.process_time() - started
            if n_classes:
                yield Result(rows, 100.0 * right / rows, float(loss / rows) if likely else None, None, seconds)
            else:
                yield Result(rows, None, None, squared / rows, seconds)


def normalized(votes: Array, n_classes: int) -> tuple[Array, int]:
    """Return probabilities f8[K] and the class with the most votes; without votes all equal, and class 0."""
    p = np.zeros(n_classes)
    p[: len(votes)] = votes[:n_classes]
    total = p.sum()
    if not np.isfinite(total) or total <= 0.0 or p.min() < 0.0:
        return np.full(n_classes, 1.0 / n_classes), int(np.argmax(np.nan_to_num(p)))
    return p / total, int(np.argmax(p))
