"""Passes of any binary learner: predict a block, learn the first misclassified row, continue after it."""

import numpy as np
from numpy.typing import NDArray

from driftway.learners.contract import Learner
from driftway.learners.online_to_batch.training_passes import LONGEST, RUN, TrainingPasses
from driftway.learners.online_to_batch.training_set import TrainingSet
from driftway.learners.online_to_batch.working_set import Ids, WorkingSet

WIDEST = 4096
"""Most rows predicted at once."""


class GenericPasses(TrainingPasses):
    """See `TrainingPasses`. Blocks grow while rows are right and shrink after a mistake; results do not depend on them.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    learner : Learner
        A binary learner, with any wrapper around it.
    """

    def __init__(self, problem: TrainingSet, learner: Learner) -> None:
        self._problem, self._learner = problem, learner

    def visit(self, sample: WorkingSet, max_mistakes: int, revisit: bool) -> tuple[int, int, int]:
        ids, copies = sample.ids, sample.copies
        kept = seen = sample.first
        mistakes, width = 0, 1
        while seen < sample.last and mistakes < max_mistakes:
            block = ids[seen : min(seen + width, sample.last)]
            right = self._right_before_a_mistake(block)
            ids[kept : kept + right] = block[:right].copy()
            kept, seen, width = kept + right, seen + right, min(2 * (right + 1), WIDEST)
            if right == len(block):
                continue
            i = ids[seen]
            self._learn(i)
            mistakes += 1
            copies[i] -= 1
            if copies[i] > 0 and revisit:
                continue
            if copies[i] > 0:
                ids[kept] = i
                kept += 1
            seen += 1
        return kept, seen, mistakes

    def follow(self, draws: Ids, first: int, survival: Ids) -> tuple[int, int]:
        mistakes, width = 0, 1
        while first < len(draws):
            block = draws[first : first + width]
            right = self._right_before_a_mistake(block)
            first, width = first + right, min(2 * (right + 1), WIDEST)
            survival[RUN] += right
            if right == len(block):
                continue
            if survival[RUN] > survival[LONGEST]:
                break
            self._learn(draws[first])
            mistakes, first, survival[RUN] = mistakes + 1, first + 1, 0
        return first, mistakes

    def errors(self) -> int:
        n = self._problem.n
        return sum(int(self._wrong(np.arange(i, min(i + WIDEST, n))).sum()) for i in range(0, n, WIDEST))

    def _wrong(self, block: Ids) -> NDArray[np.bool_]:
        score = np.empty((len(block), 1))
        self._learner.predict(np.ascontiguousarray(self._problem.rows[block, :-1]), score)
        wrong: NDArray[np.bool_] = (score[:, 0] >= 0.0) != (self._problem.y[block] == 1.0)
        return wrong

    def _right_before_a_mistake(self, block: Ids) -> int:
        wrong = self._wrong(block)
        return int(np.argmax(wrong)) if wrong.any() else len(block)

    def _learn(self, i: np.int64) -> None:
        row = np.ascontiguousarray(self._problem.rows[i : i + 1, :-1])
        self._learner.predict_then_update(row, self._problem.y[i : i + 1], np.empty((1, 1)))
