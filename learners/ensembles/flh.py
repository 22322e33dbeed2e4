"""Follow the leading history."""

import math
from functools import cache
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Parameters, UpdateRule, fragment, number
from driftway.learners.engine.jit import trailing_zeros
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.age_weighted import BASE, AgeWeightedState, mixing
from driftway.learners.ensembles.ensemble import Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, Fragment
from driftway.learners.numeric.elementary.exponential import exp

SCALES = 48
"""An expert that starts at row j 2^k, j odd, has scale k; 2^48 rows are 89 years at 100 000 rows a second."""
TOGETHER = 3
"""Experts of a scale alive at a time: they start every 2^(k + 1) rows and live for 2^(k + 2) + 1."""


class FLH(Ensemble):
    """A new expert starts at every row, with a lifetime set by the row number; they are mixed by their losses.

    Some expert has learned the rows since the last drift and few before, whenever that was, so the regret is small on
    every interval. The expert of row j 2^k, j odd, lives for 2^(k + 2) more rows: the number of experts grows with the
    logarithm of that of rows. s = sum of p_i s_i; p_i <- p_i exp(-alpha loss_i), the logistic loss clipped to 1; before
    row t the new expert gets weight 1 / t, the others keep 1 - 1 / t of theirs, expired ones are removed, and all
    weights are normalised.

    Cost
    ----
    O(3 log2(t) base) per row; 144 times the base's state and 1168 bytes.

    Source
    ------
    Hazan and Seshadhri, ICML 2009; named in Zhang, Zhao and Jin, AAAI 2020. docs/algorithms/ensembles.md#flh.
    """

    name = "flh"
    tasks = ("binary",)
    max_experts = TOGETHER * SCALES

    class Params(Parameters):
        base: str = learner("ogd_logistic/schedule=const/eta=0.1", BASE)
        alpha: float = number(1.0, "Rate at which weights follow losses.", above=0.0)

    def rule(self) -> UpdateRule:
        return self.around(*build_fragments(self.expert, self.members.rule.begin), AgeWeightedState, classes=False)

    def initialise(self) -> None:
        super().initialise()
        self.state["weight"][0] = 1.0
        self.state["slots"][0] = 1


@fragment
def slot_of(born: int, k: int) -> int:
    """Return the slot of the expert that starts at a row with k trailing zeros; each scale cycles through three."""
    return TOGETHER * k + (born >> (k + 1)) % TOGETHER


@cache
def build_fragments(expert: Expert, begin: Fragment) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts of one kind."""
    score, judge, teach, enter = mixing(expert, begin)

    @fragment
    def learn(x: Array, y: float, _omega: float, _margin: float, p: EnsembleNumbers, memory: AgeWeightedState) -> None:
        """Update the weights and experts, then remove the expired expert and add a new one. Shapes: x f8[d]."""
        judge(y, memory)
        teach(x, y, p, memory)
        discount(p.own.alpha, memory)
        memory.learned[0] += 1
        last, t = memory.learned[0], memory.learned[0] + 1
        k = int(trailing_zeros(np.uint64(last)))
        born = last - (4 << k)
        if born > 0:  # its 2^(k + 2) rows are over
            memory.weight[slot_of(born, k)] = 0.0
        for e in range(memory.slots[0]):
            memory.weight[e] *= 1.0 - 1.0 / t
        k = int(trailing_zeros(np.uint64(t)))
        enter(slot_of(t, k), 1.0 / t, p, memory)
        total = 0.0
        for e in range(memory.slots[0]):
            total += memory.weight[e]
        for e in range(memory.slots[0]):
            memory.weight[e] /= total

    return score, learn


@fragment
def discount(alpha: float, memory: AgeWeightedState) -> None:
    """Set p_i <- p_i exp(-alpha loss_i), normalised; losses are relative to the smallest, so that the sum is not 0."""
    least, total = math.inf, 0.0
    for e in range(memory.slots[0]):
        if memory.weight[e] > 0.0:
            least = min(least, memory.loss[e])
    for e in range(memory.slots[0]):
        if memory.weight[e] > 0.0:
            memory.weight[e] *= exp(-alpha * (memory.loss[e] - least))
            total += memory.weight[e]
    for e in range(memory.slots[0]):
        memory.weight[e] /= total
