"""Strongly adaptive online learning."""

import math
from functools import cache
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Parameters, UpdateRule, fragment
from driftway.learners.engine.jit import trailing_zeros
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.age_weighted import BASE, AgeWeightedState, mixing
from driftway.learners.ensembles.ensemble import Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, Fragment

SCALES = 48
"""2^48 rows are 89 years at 100 000 rows a second."""


class SAOL(Ensemble):
    """One expert per power of two, which restarts after that many rows; they are mixed by their losses.

    Some expert started shortly after the last drift, whenever that was; `flh` is the same idea with more experts.
    s = sum of w_j s_j / sum of w_j; w_j <- w_j (1 + eta_j (weighted mean loss - loss_j)), the logistic loss clipped to
    1. The expert of scale j starts at each multiple of 2^j with w_j = eta_j = min(1/2, 2^(-j/2)).

    Cost
    ----
    O(log2(t) base) per row; 48 times the base's state and 400 bytes.

    Source
    ------
    Daniely, Gonen and Shalev-Shwartz, ICML 2015. docs/algorithms/ensembles.md#saol: each w_j includes the factor
    eta_j.
    """

    name = "saol"
    tasks = ("binary",)
    max_experts = SCALES

    class Params(Parameters):
        base: str = learner("ogd_logistic/schedule=const/eta=0.1", BASE)

    def rule(self) -> UpdateRule:
        return self.around(*build_fragments(self.expert, self.members.rule.begin), AgeWeightedState, classes=False)

    def initialise(self) -> None:
        super().initialise()
        self.state["weight"][0] = 0.5
        self.state["slots"][0] = 1


@fragment
def rate(j: int) -> float:
    """eta_j = min(1/2, 2^(-j/2))."""
    return min(0.5, 1.0 / math.sqrt(float(1 << j)))


@cache
def build_fragments(expert: Expert, begin: Fragment) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts of one kind."""
    score, judge, teach, enter = mixing(expert, begin)

    @fragment
    def learn(x: Array, y: float, _omega: float, _margin: float, p: EnsembleNumbers, memory: AgeWeightedState) -> None:
        """Update the weights and experts, then restart the experts whose interval is over. Shapes: x f8[d]."""
        judge(y, memory)
        teach(x, y, p, memory)
        mean, total = 0.0, 0.0
        for j in range(memory.slots[0]):
            if memory.weight[j] > 0.0:
                mean += memory.weight[j] * memory.loss[j]
                total += memory.weight[j]
        mean /= total
        for j in range(memory.slots[0]):
            if memory.weight[j] > 0.0:
                memory.weight[j] *= 1.0 + rate(j) * (mean - memory.loss[j])
        memory.learned[0] += 1
        for j in range(int(trailing_zeros(np.uint64(memory.learned[0] + 1))) + 1):
            enter(j, rate(j), p, memory)

    return score, learn
