"""Averages of the hypotheses that survived a minimum number of draws, and the best of these averages."""

from typing import Any, ClassVar

import numpy as np

from driftway.learners.contract import Array, kernel
from driftway.learners.engine.state import Bytes
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.online_to_batch.draws import DrawingProcedure
from driftway.learners.online_to_batch.linear_passes import (
    LinearPassState,
    right_before_a_mistake,
    standing,
    weights_of,
)
from driftway.learners.online_to_batch.working_set import Ids


class CutoffAverage(DrawingProcedure):
    """As `average`, but a hypothesis counts only from its (k + 1)-th draw on, for k = 0, 1, 2, 4 and so on.

    The average with the least empirical error is returned, that of the smaller k on ties. Only for the learner
    `perceptron`, whose hypotheses are weights.

    Parameters
    ----------
    mult : int
        L = mult n draws, mult >= 1. Default 10.

    Cost
    ----
    O(d L); half a megabyte and log2 L weight vectors.

    Source
    ------
    Dekel, NIPS 2008. docs/algorithms/online_to_batch.md#online-to-batch. Differs: k is chosen by the empirical error.
    It has no guarantee if rows are not i.i.d.
    """

    name = "cutoff-average"
    KEPT: ClassVar[tuple[str, ...]] = ("used", "sums", "counts", "k")

    def begin(self) -> None:
        super().begin()
        self.weight = weights_of(self.online.learner, self.name)
        self.at = standing(self.problem, self.online.learner)
        self.cutoffs = np.array([0, *(2**i for i in range(self.draws.length.bit_length()))])
        self.sums, self.counts = np.zeros((len(self.cutoffs), len(self.weight))), np.zeros(len(self.cutoffs), np.int64)
        self.used = np.zeros(1, np.int64)
        self.k = 0

    def step(self) -> None:
        ids = self.draws.take()
        self.mistakes += follow(self.at, ids, self.used, self.cutoffs, self.sums, self.counts)
        self.passes += 1
        self.done = self.draws.remaining == 0
        if self.done:
            enter(self.weight, self.used[0], self.cutoffs, self.sums, self.counts)
            self._choose()

    def _choose(self) -> None:
        for place in np.flatnonzero(self.counts):
            errors = self.online.at(self._average(place)).errors()
            if self.errors is None or errors < self.errors:
                self.errors, self.k = errors, int(self.cutoffs[place])

    def _average(self, place: np.intp) -> Bytes:
        learner = self.online.learner.clone_empty()
        learner.state["weight"][:] = self.sums[place] / self.counts[place]
        return learner.state.memory

    @property
    def hypothesis(self) -> Bytes:
        place = np.flatnonzero(self.cutoffs == self.k)[0]
        return self._average(place) if self.counts[place] else self.online.memory

    def findings(self) -> dict[str, Any]:
        return {**super().findings(), "k": self.k}


@kernel
def enter(weight: Array, used: int, cutoffs: Ids, sums: Array, counts: Ids) -> None:
    """Add a hypothesis used for `used` draws to every average whose cutoff it exceeds.

    Shapes: weight f8[d], cutoffs i8[K], sums f8[K, d], counts i8[K].
    """
    for i in range(cutoffs.shape[0]):
        late = used - cutoffs[i]
        if late > 0:
            axpy_guarded(sums[i], weight, float(late))
            counts[i] += late


@kernel
def follow(at: LinearPassState, draws: Ids, used: Ids, cutoffs: Ids, sums: Array, counts: Ids) -> int:
    """Learn along the draws; at a mistake the current hypothesis is first added to the averages.

    Shapes: draws i8[m], used i8[1], cutoffs i8[K], sums f8[K, d], counts i8[K]. `used` counts the draws that the
    current hypothesis got right so far. Returns the number of mistakes.
    """
    t, last, mistakes = 0, draws.shape[0], 0
    while t < last:
        right = right_before_a_mistake(at, draws, t, last)
        t += right
        used[0] += right
        if t == last:
            break
        enter(at.weight, used[0] + 1, cutoffs, sums, counts)
        used[0] = 0
        axpy_guarded(at.weight, at.rows[draws[t]], at.eta * (2.0 * at.y[draws[t]] - 1.0))
        mistakes += 1
        t += 1
    return mistakes
