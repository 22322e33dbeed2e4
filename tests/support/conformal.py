"""Streams of scores and labels of each kind, with labels that arrive late or never, and helpers to test on them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from driftway.learners.conformal.conformal import Conformal
from driftway.learners.conformal.coverage import CoverageMetrics
from driftway.learners.engine.update_loop import NOT_DELAYED

KINDS = {"targets": (0, 1), "two": (2, 1), "seven": (7, 7)}
"""Kind -> number of classes, number of scores."""
each_kind = pytest.mark.parametrize("kind", KINDS)
each_level = pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])


def learner(kind):
    """A learner of this kind."""
    n_classes, n_scores = KINDS[kind]
    return SimpleNamespace(task="classification" if n_classes else "regression", n_classes=n_classes, n_scores=n_scores)


class ConformalRun:
    """Thresholds and what they covered; both states in one."""

    def __init__(self, kind, level, window):
        self.conformal, self.coverage = Conformal(learner(kind), level), CoverageMetrics(learner(kind), level, window)
        self.waiting, self.point = self.conformal.waiting, self.coverage.point

    def emit(self, score, y, *late):
        threshold = self.conformal.emit(score, y, *late)
        self.coverage.observe(score, threshold, y)
        return threshold

    @property
    def memory(self):
        return self.conformal.state.memory.tobytes() + self.coverage.state.memory.tobytes()


def conformal(kind, level=0.9, window=1000):
    return ConformalRun(kind, level, window)


def stream(kind, n, seed=0, spread=None):
    """Scores f8[n, k] and labels f8[n]; the errors' scale is `spread` f8[n], and scores of classes grow with it."""
    random, (_n_classes, n_scores) = np.random.default_rng(seed), KINDS[kind]
    spread = np.exp(np.sin(np.arange(n) / 200.0)) if spread is None else spread
    score = random.normal(size=(n, n_scores))
    if kind == "targets":
        return score, score[:, 0] + spread * random.standard_t(3, n)
    noisy = score + 0.5 * random.normal(size=score.shape)
    y = noisy.argmax(axis=1) if n_scores > 1 else (noisy[:, 0] >= 0.0)
    return score * spread[:, None], y.astype(float)


def delays_of(n, seed):
    """Delay of each row's label in rows; 0: with the row. Every seventh label never arrives: -1."""
    random = np.random.default_rng(seed)
    late = np.where(random.random(n) < 0.3, 0, random.integers(1, 30, n))
    late[::7] = -1
    return late


def operations(score, y, delay, slots=64):
    """Rows and late labels as entries of `Conformal.observe`, the number of each one's row, and which are rows."""
    due = {}
    for row, late in enumerate(delay.tolist()):
        due.setdefault(row + late if late > 0 else None, []).append(row)
    entries = []
    for row in range(len(y)):
        entries.append((row, True))
        entries += [(other, False) for other in due.get(row, [])]
    number = np.array([row for row, _ in entries])
    is_row = np.array([first for _, first in entries])
    labels = np.where(is_row & (delay[number] != 0), np.nan, y[number])
    slot = np.where(delay[number] == 0, NOT_DELAYED, number % slots)
    return score[number], labels, slot, number, is_row
