"""Experts that started at different rows, mixed by their losses: memory and fragments shared by `flh` and `saol`.

A slot with weight 0 is not in use; a weight that underflows to 0 stays 0.
"""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, scratch
from driftway.learners.engine.jit import member
from driftway.learners.ensembles.expert import Expert, Fragment, finite_or_zero, renew
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log1p

BASE = (
    "Learner of every expert. Margins are averaged: a learner that is confident after three rows, like gaussian_nb, "
    "outweighs the others."
)

CERTAIN = 1.0
"""The loss of a margin this far on the wrong side is above 1."""


class AgeWeightedState(NamedTuple):
    """State of ensembles whose experts start at different rows."""

    members: Any
    """Views of `states`, from which `driftway.learners.engine.jit.member` takes one expert's."""
    fresh: Array
    """f8[M, words]: the experts' initial states."""
    weight: Array = field("f8[M]", "the experts' weights, 0 of a slot that is not in use")
    slots: Counts = field("i8[1]", "number of slots that were ever in use, the first ones", largest="M")
    learned: Counts = field("i8[1]", "labelled rows so far")
    states: Array = field("f8[M, words]", "the experts' states, one after the other")
    margins: Array = scratch("f8[M]", "the experts' margins of the row")
    loss: Array = scratch("f8[M]", "what they lose by its label, at most 1")


class AgeWeightedFragments(NamedTuple):
    """The fragments made by `mixing`."""

    score: Fragment
    judge: Fragment
    """``judge(y, memory)``: computes the losses of the row, y being -1 or 1."""
    teach: Fragment
    """``teach(x, y, p, memory)``: every expert learns the row."""
    enter: Fragment
    """``enter(e, weight, p, memory)``: puts a new expert into slot e, replacing any that was there."""


@fragment
def clipped_loss(margin: float) -> float:
    """Logistic loss of a margin, clipped to 1; a non-finite margin counts as 0."""
    s = finite_or_zero(margin)
    if s <= -CERTAIN:
        return 1.0
    return min(max(-s, 0.0) + log1p(exp(-abs(s))), 1.0)


@cache
def mixing(expert: Expert, begin: Fragment) -> AgeWeightedFragments:
    """Make the fragments for experts of one kind; `begin` is that of one expert's rule."""
    predict, _, teach, _ = expert

    @fragment
    def score(x: Array, p: Any, memory: Any) -> float:
        """Return the weighted mean of the experts' margins. Shapes: x f8[d]."""
        mixed, total = 0.0, 0.0
        for e in range(memory.slots[0]):
            if memory.weight[e] > 0.0:
                predict(x, p.base, member(memory.members, e), memory.margins, e)
                mixed += memory.weight[e] * finite_or_zero(memory.margins[e])
                total += memory.weight[e]
        return mixed / total if total > 0.0 else 0.0

    @fragment
    def judge(y: float, memory: Any) -> None:
        for e in range(memory.slots[0]):
            if memory.weight[e] > 0.0:
                memory.loss[e] = clipped_loss(y * memory.margins[e])

    @fragment
    def teach_all(x: Array, y: float, p: Any, memory: Any) -> None:
        for e in range(memory.slots[0]):
            if memory.weight[e] > 0.0:
                teach(x, 1 if y > 0.0 else 0, 1.0, p.base, member(memory.members, e), memory.margins[e])

    @fragment
    def enter(e: int, weight: float, p: Any, memory: Any) -> None:
        renew(e, memory)
        begin(p.base, member(memory.members, e))
        memory.weight[e] = weight
        memory.slots[0] = max(memory.slots[0], e + 1)

    return AgeWeightedFragments(score, judge, teach_all, enter)
