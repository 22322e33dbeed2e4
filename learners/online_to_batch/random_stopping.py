"""Random stopping: the hypothesis after a random number of draws."""

from typing import Any

import numpy as np

from driftway.learners.online_to_batch.draws import DrawingProcedure

NEVER = np.iinfo(np.int64).max


class RandomStopping(DrawingProcedure):
    """Learns from rows drawn from the problem and stops after a number of draws chosen at random beforehand.

    Parameters
    ----------
    mult : int
        L = mult n draws, of which r < L are used, mult >= 1. Default 10.

    Cost
    ----
    O(L) rows; half a megabyte.

    Source
    ------
    Helmbold and Warmuth, JCSS 50, 1995; Tao and Lu, KDD 2020, section 7.1. It has no guarantee if rows are not
    i.i.d.
    """

    name = "random-stopping"

    def begin(self) -> None:
        super().begin()
        self.draws.length = self.draws.below(self.draws.length)
        self.survival = np.array([0, NEVER])  # so that no run is long enough to stop at

    def step(self) -> None:
        ids = self.draws.take()
        _, mistakes = self.online.follow(ids, 0, self.survival)
        self.passes += 1
        self.mistakes += mistakes
        self.done = self.draws.remaining == 0
        if self.done:
            self.errors = self.online.errors()

    def findings(self) -> dict[str, Any]:
        return {**super().findings(), "length": self.parameters.mult * self.problem.n}
