"""Longest survival: the hypothesis that got the most draws right in a row."""

from typing import Any, ClassVar

import numpy as np

from driftway.learners.engine.state import Bytes
from driftway.learners.online_to_batch.draws import DrawingProcedure
from driftway.learners.online_to_batch.training_passes import LONGEST, RUN


class LongestSurvival(DrawingProcedure):
    """Learns from rows drawn from the problem and keeps the hypothesis that lasted longest, the first one on ties.

    Parameters
    ----------
    mult : int
        L = mult n draws, mult >= 1. Default 10.

    Cost
    ----
    O(L) rows; half a megabyte and one more state of the learner.

    Source
    ------
    Gallant, ICPR 1986 (the pocket algorithm); Tao and Lu, KDD 2020, section 7.1. It has no guarantee if rows are not
    i.i.d.
    """

    name = "longest-survival"
    KEPT: ClassVar[tuple[str, ...]] = ("best", "survival")

    def begin(self) -> None:
        super().begin()
        self.best = self.online.memory.copy()
        self.survival = np.array([0, -1])  # so that a first run of 0 rows is longer than none

    def step(self) -> None:
        ids, t = self.draws.take(), 0
        while True:
            t, mistakes = self.online.follow(ids, t, self.survival)
            self.mistakes += mistakes
            if t == len(ids):
                break
            self._keep()
        self.passes += 1
        self.done = self.draws.remaining == 0
        if self.done and self.survival[RUN] > self.survival[LONGEST]:
            self._keep()  # the last run did not end with a mistake
        if self.done:
            self.errors = self.online.at(self.best).errors()

    def _keep(self) -> None:
        self.best[:] = self.online.memory
        self.survival[LONGEST] = self.survival[RUN]

    @property
    def hypothesis(self) -> Bytes:
        return self.best

    def findings(self) -> dict[str, Any]:
        return {**super().findings(), "survived": int(max(0, self.survival[LONGEST]))}
