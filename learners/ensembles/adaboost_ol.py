"""Online boosting that adapts to the quality of its members (AdaBoost.OL)."""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    field,
    flag,
    fragment,
    integer,
    scratch,
)
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.ensemble import Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.random import Words, seed, uniform

FARTHEST = 2.0
"""Largest |alpha|."""


class AdaBoostOL(Ensemble):
    """Online boosting: each member weights a row by how badly those before it predict it; a prefix of them decides.

    Combines many weak learners into a good one. F_i = sum over j <= i of alpha_j h_j, h_j the votes; the score is F_i
    for an i drawn by the weights v_i, which shrink to 1 / e of themselves with each mistake of F_i. On a label, with
    sigma_i = y F_i and omega_i = 1 / (1 + exp(sigma_(i-1))): alpha_i gains 4 / sqrt(t) y h_i / (1 + exp(sigma_i)),
    clipped to [-2, 2], and member i learns the row with weight omega_i, or with that probability.

    Cost
    ----
    O(M base) per row; M times the base's state and 16 M + 48 bytes, M = n.

    Source
    ------
    Beygelzimer, Kale and Luo, ICML 2015, AdaBoost.OL and AdaBoost.OL.W. docs/algorithms/ensembles.md#adaboost_ol: the
    prefix of a row is drawn at the end of the labelled row before.
    """

    name = "adaboost_ol"
    tasks = ("binary",)

    class Params(Parameters):
        n: int = integer(20, "M, number of members.", at_least=2)
        base: str = learner("ogd_logistic", "Learner of every member.")
        mode: str = choice(
            "sample",
            ("sample", "weight"),
            "`sample`: a member learns a row with a probability; `weight`: it learns every row with a weight, if "
            "`base` can.",
        )
        deterministic: bool = flag(False, "Take the prefix with the largest weight, rather than draw one.")
        seed: int = integer(1, "Seed of the draws.", at_least=0, at_most=2**53)

    @property
    def max_experts(self) -> int:
        return int(self.parameters.n)

    def rule(self) -> UpdateRule:
        p = self.parameters
        if p.mode == "weight" and not self.members.rule.uses_weight:
            raise ParameterError(f"mode must be sample with {self.base.name}, which does not weigh rows, got 'weight'")
        own = AdaBoostOLNumbers(p.mode == "sample", p.deterministic)
        return self.around(*build_fragments(self.expert), AdaBoostOLState, classes=False, own=own)

    def initialise(self) -> None:
        super().initialise()
        seed(self.state["generator"], np.uint64(self.parameters.seed))
        self.state["prefix"][0] = self.max_experts - 1


class AdaBoostOLNumbers(NamedTuple):
    """Parameters of `adaboost_ol` other than its members'."""

    sample: bool
    deterministic: bool


class AdaBoostOLState(NamedTuple):
    """State of `adaboost_ol`."""

    members: Any
    """Views of `states`, from which `driftway.learners.engine.jit.member` takes one expert's."""
    fresh: Array
    """f8[M, words]: the members' initial states."""
    alpha: Array = field("f8[M]", "the members' weights in the sums")
    log_v: Array = field("f8[M]", "ln of each sum's weight, the largest 0")
    prefix: Counts = field("i8[1]", "number of the sum that is the next score, from 0")
    learned: Counts = field("i8[1]", "t, labelled rows so far")
    generator: Words = field("u8[4]", "of the random numbers")
    states: Array = field("f8[M, words]", "the members' states, one after the other")
    margins: Array = scratch("f8[M]", "the members' margins of the row")
    h: Array = scratch("f8[M]", "their votes, -1 or 1")


@cache
def build_fragments(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for members of one kind."""
    predict, choose, teach, _ = expert

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: AdaBoostOLState) -> float:
        """Return the weighted sum of the prefix's votes. Shapes: x f8[d]."""
        total = 0.0
        for i in range(memory.h.shape[0]):
            one = member(memory.members, i)
            predict(x, p.base, one, memory.margins, i)
            memory.h[i] = 2.0 * choose(one, memory.margins[i]) - 1.0
            if i <= memory.prefix[0]:
                total += memory.alpha[i] * memory.h[i]
        return total

    @fragment
    def learn(x: Array, y: float, _omega: float, _margin: float, p: EnsembleNumbers, memory: AdaBoostOLState) -> None:
        """Algorithm 2 from where the label is revealed; then draw the next prefix. Shapes: x f8[d]."""
        memory.learned[0] += 1
        eta = 4.0 / math.sqrt(memory.learned[0])
        total = 0.0  # F_(i - 1), then F_i
        likely = 0.5  # omega_i = 1 / (1 + exp(sigma_(i - 1)))
        for i in range(memory.h.shape[0]):
            omega = likely
            total += memory.alpha[i] * memory.h[i]
            likely = 1.0 / (1.0 + exp(y * total))
            alpha = memory.alpha[i] + eta * y * memory.h[i] * likely
            memory.alpha[i] = min(max(alpha, -FARTHEST), FARTHEST)
            if (total >= 0.0) != (y > 0.0):
                memory.log_v[i] -= 1.0
            if p.own.sample:
                omega = 1.0 if uniform(memory.generator) < omega else 0.0
            if omega > 0.0:
                teach(x, 1 if y > 0.0 else 0, omega, p.base, member(memory.members, i), memory.margins[i])
        draw(p.own.deterministic, memory)

    return score, learn


@fragment
def draw(deterministic: bool, memory: AdaBoostOLState) -> None:
    """Choose the next prefix: randomly with probabilities proportional to v, or the first with the largest v."""
    log_v, n = memory.log_v, memory.log_v.shape[0]
    best = 0
    for i in range(1, n):
        if log_v[i] > log_v[best]:
            best = i
    largest = log_v[best]
    total = 0.0
    for i in range(n):
        log_v[i] -= largest
        total += exp(log_v[i])
    memory.prefix[0] = best
    if not deterministic:
        point, i, below = uniform(memory.generator) * total, 0, exp(log_v[0])
        while below <= point and i < n - 1:
            i += 1
            below += exp(log_v[i])
        memory.prefix[0] = i
