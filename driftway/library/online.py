"""A learner that also gets single rows, with the same bits as if it had got all rows in one batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.learner import REGRESSION, Learner
from driftway.learners.metrics.calibrator import Calibrator
from driftway.library.interrupts import interrupts_wait

Array = NDArray[np.float64]
ROWS = 256
"""Rows that are held back at most."""
INTERRUPT_ROWS = 10_000
"""Rows of a table that are learned together; Ctrl-C waits for them.

A standardiser and a calibrator have kernels of their own, and must have learned the same rows as the learner.
"""


class OnlineLearner:
    """A learner with the calibrator behind it, which run only when a prediction is asked for, over all rows since.

    A learner's bits do not depend on how rows are cut into batches. So rows to learn from are held back: the kernel
    runs once over them and the row to predict, and the calibrator runs only when somebody asks for a probability.

    Parameters
    ----------
    learner : Learner
        Continues from its current state; not to be used elsewhere.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._calibrator = None if learner.task == REGRESSION else Calibrator.behind(learner)
        self._X = np.empty((ROWS + 1, learner.n_features))
        self._y = np.empty(ROWS + 1)
        self._score = np.empty((ROWS + 1, learner.n_scores))
        self._held = self._learned = self._calibrated = 0

    @property
    def learner(self) -> Learner:
        """The learner, after all rows."""
        self._run(self._held)
        return self._learner

    @property
    def calibrator(self) -> Calibrator | None:
        """Its calibrator, after all rows; None in regression."""
        self._run(self._held)
        self._calibrate(self._held)
        return self._calibrator

    def learn(self, row: Sequence[float], y: float) -> None:
        """Learn a row; y is a class index or a target."""
        at = self._held
        self._X[at], self._y[at] = row, y
        self._held = at + 1
        if self._held == ROWS:
            self._settle()

    def score(self, row: Sequence[float]) -> Array:
        """Return a row's scores, f8[k], without learning from it; valid until the next call."""
        at = self._held
        self._X[at], self._y[at] = row, math.nan
        self._run(at + 1)
        self._learned = at
        found: Array = self._score[at]
        return found

    def probability(self, row: Sequence[float]) -> tuple[Array, int]:
        """Return a row's scores, f8[k], and the probability of the class predicted, in millionths."""
        score, at = self.score(row), self._held
        millionths = self._calibrate(at + 1)
        self._calibrated = at
        return score, int(millionths[-1])

    def learn_batch(self, X: Array, y: Array) -> tuple[Array, NDArray[np.int64]]:
        """Predict each row, then learn it; return the scores, f8[n, k], and the probabilities as `predict_batch`."""
        self._settle()
        score = np.empty((len(X), self._learner.n_scores))
        millionths = np.zeros(0 if self._calibrator is None else len(X), np.int64)
        for begin in range(0, len(X), INTERRUPT_ROWS):
            rows = slice(begin, begin + INTERRUPT_ROWS)
            with interrupts_wait():
                self._learner.predict_then_update(X[rows], y[rows], score[rows])
                if self._calibrator is not None:
                    millionths[rows] = self._calibrator.calibrate(score[rows], y[rows])
        return score, millionths

    def predict_batch(self, X: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return the scores of rows, f8[n, k], and the probabilities of the classes predicted in millionths, i8[n]."""
        return self.learn_batch(X, np.full(len(X), math.nan))

    def _run(self, end: int) -> None:
        """Run the learner over the held rows up to `end`."""
        if (begin := self._learned) < end:
            rows = slice(begin, end)
            self._learner.predict_then_update(self._X[rows], self._y[rows], self._score[rows])
            self._learned = end

    def _calibrate(self, end: int) -> NDArray[np.int64]:
        """Run the calibrator over the held rows up to `end`."""
        rows = slice(self._calibrated, end)
        if self._calibrator is None or self._calibrated == end:
            return np.zeros(0, np.int64)
        self._calibrated = end
        return self._calibrator.calibrate(self._score[rows], self._y[rows])

    def _settle(self) -> None:
        """Run over all held rows, and hold none."""
        self._run(self._held)
        self._calibrate(self._held)
        self._held = self._learned = self._calibrated = 0

    def state(self) -> tuple[bytes, bytes]:
        """Return the states of learner and calibrator as bytes."""
        behind = b"" if (calibrator := self.calibrator) is None else calibrator.state.memory.tobytes()
        return self.learner.state.memory.tobytes(), behind

    def set_state(self, state: tuple[bytes, bytes]) -> None:
        """Continue from what `state` returned, or from a model file; an empty calibrator's begins anew.

        Raises
        ------
        ValueError
            A state belongs to another learner, or is damaged.
        """
        self._held = self._learned = self._calibrated = 0
        parts: tuple[Any, ...] = self._learner, self._calibrator
        for part, memory in zip(parts, state, strict=True):
            if part is None or (part is self._calibrator and not memory):
                continue
            if len(memory) != part.state.nbytes:
                raise ValueError(f"the state has {len(memory)} bytes, not {part.state.nbytes}")
            part.check_state(found := np.frombuffer(memory, np.uint8))
            part.state.memory[:] = found
