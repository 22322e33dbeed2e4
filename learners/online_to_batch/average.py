"""The average of all hypotheses along a stream of draws."""

from typing import ClassVar

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


class Average(DrawingProcedure):
    """Learns from rows drawn from the problem and returns the mean of the weights used for each draw.

    Only for the learner `perceptron`, whose hypotheses are weights.

    Parameters
    ----------
    mult : int
        L = mult n draws, mult >= 1. Default 10.

    Cost
    ----
    O(d L); half a megabyte and one more weight vector.

    Source
    ------
    Cesa-Bianchi, Conconi and Gentile, IEEE Trans. Information Theory 50, 2004.
    docs/algorithms/online_to_batch.md#averages. It has no guarantee if rows are not i.i.d.
    """

    name = "average"
    KEPT: ClassVar[tuple[str, ...]] = ("late",)

    def begin(self) -> None:
        super().begin()
        self.weight = weights_of(self.online.learner, self.name)
        self.at = standing(self.problem, self.online.learner)
        self.late = np.zeros_like(self.weight)

    def step(self) -> None:
        before, ids = self.draws.taken, self.draws.take()
        self.mistakes += follow(self.at, ids, before, self.late)
        self.passes += 1
        self.done = self.draws.remaining == 0
        if self.done:
            self.errors = self.online.at(self.hypothesis).errors()

    @property
    def hypothesis(self) -> Bytes:
        learner = self.online.learner.clone_empty()
        learner.state["weight"][:] = self.weight - self.late / max(1, self.draws.taken)
        return learner.state.memory


@kernel
def follow(at: LinearPassState, draws: Ids, before: int, late: Array) -> int:
    """Learn along the draws; `late` sums each step times the number of draws made before it took effect.

    Shapes: draws i8[m], late f8[d]; `before` draws preceded these. The mean of the hypotheses used for L draws is
    weight - late / L. Returns the number of mistakes.
    """
    t, last, mistakes = 0, draws.shape[0], 0
    while t < last:
        right = right_before_a_mistake(at, draws, t, last)
        t += right
        if t == last:
            break
        x, step = at.rows[draws[t]], at.eta * (2.0 * at.y[draws[t]] - 1.0)
        t += 1
        if axpy_guarded(at.weight, x, step):
            axpy_guarded(late, x, step * (before + t))
        mistakes += 1
    return mistakes
