"""Online bagging."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Parameters, UpdateRule, field, fragment, integer, scratch
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.ensemble import DEFAULT, Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, finite_or_zero
from driftway.learners.learner import REGRESSION
from driftway.learners.numeric.random import Words, poisson, seed


class OnlineBagging(Ensemble):
    """Learners that each learn every row a random number of times, once on average, and vote or are averaged.

    Like bagging in batch, it stabilises learners that are sensitive to a few rows. It does not forget: choose a base
    that does if concepts drift.

    Cost
    ----
    O(n base) per row; n times the base's state and 32 bytes.

    Source
    ------
    Oza and Russell, AISTATS 2001. docs/algorithms/ensembles.md#online_bagging.
    """

    name = "online_bagging"
    tasks = ("binary", "multiclass", "regression")
    votes = True

    class Params(Parameters):
        base: str = learner(DEFAULT, "Learner of every member; `default` is `gaussian_nb`, and `rls` in regression.")
        n: int = integer(10, "Number of learners.", at_least=2)
        seed: int = integer(1, "Seed of the counts.", at_least=0, at_most=2**53)

    @property
    def max_experts(self) -> int:
        return int(self.parameters.n)

    def rule(self) -> UpdateRule:
        regression = self.task == REGRESSION
        pieces = (of_targets if regression else of_classes)(self.expert)
        return self.around(*pieces, OnlineBaggingState, classes=not regression)

    def initialise(self) -> None:
        super().initialise()
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class OnlineBaggingState(NamedTuple):
    """State of `online_bagging`."""

    members: Any
    """As in `ExpertPool`."""
    fresh: Array
    """f8[M, words]: the learners' initial states."""
    generator: Words = field("u8[4]", "of the random numbers")
    states: Array = field("f8[M, words]", "the learners' states, one after the other")
    margins: Array = scratch("f8[M]", "their predictions of the row")
    S: Array = scratch("f8[K]", "share of the votes for each class")


@cache
def learn_step(expert: Expert) -> Any:
    """Make `learn`, for classes and targets."""
    predict, _, teach, _ = expert

    @fragment
    def learn(
        x: Array, y: float, _omega: float, _margin: float, p: EnsembleNumbers, memory: OnlineBaggingState
    ) -> None:
        """Oza and Russell's Figure 2: k from Poisson(1) for each learner, which learns the row k times.

        Shapes: x f8[d].
        """
        for e in range(memory.margins.shape[0]):
            one = member(memory.members, e)
            for k in range(poisson(memory.generator, 1.0)):
                if k > 0:
                    predict(x, p.base, one, memory.margins, e)
                teach(x, y, 1.0, p.base, one, memory.margins[e])

    return learn


@cache
def of_classes(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for learners that vote."""
    predict, choose, _, _ = expert

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: OnlineBaggingState) -> None:
        for r in range(memory.S.shape[0]):
            memory.S[r] = 0.0
        for e in range(memory.margins.shape[0]):
            one = member(memory.members, e)
            predict(x, p.base, one, memory.margins, e)
            memory.S[choose(one, memory.margins[e])] += 1.0
        for r in range(memory.S.shape[0]):
            memory.S[r] /= memory.margins.shape[0]

    return score, learn_step(expert)


@cache
def of_targets(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for learners whose outputs are averaged; a non-finite one counts as 0."""
    predict, _, _, _ = expert

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: OnlineBaggingState) -> float:
        s = 0.0
        for e in range(memory.margins.shape[0]):
            predict(x, p.base, member(memory.members, e), memory.margins, e)
            s += finite_or_zero(memory.margins[e]) / memory.margins.shape[0]
        return s

    return score, learn_step(expert)
