"""Experts of different kinds in one buffer and one compiled loop, by chained fragments.

A loop over them is not possible: a tuple that a kernel indexes by a variable must have items of one type, and each kind
has its own memory. So the fragment of expert e calls its learner's and then that of expert e + 1, up to the last.

``p.base``, the experts' parameters, and ``memory.members``, their memories, are tuples; the fragments also use
``memory.margins`` and ``memory.votes`` f8[M].
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Learner, fragment
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views
from driftway.learners.engine.update_loop import no_op
from driftway.learners.ensembles.expert import Fragment, expert_of


class HeterogeneousExpert(NamedTuple):
    """Fragments of one expert."""

    predict: Fragment
    predicted_class: Fragment
    learn: Fragment
    begin: Fragment
    """The first three as in `driftway.learners.ensembles.expert`, but `begin` is the learner's own."""
    cut: int
    """1 if its rows lack the intercept that others have, else 0."""


class HeterogeneousPool:
    """The experts of a pool, with their rules, parameters, initial states and fragments.

    Parameters
    ----------
    experts : sequence of Learner
        Untrained classifiers, M >= 1, none of them composite. Their states are concatenated in this order.
    """

    def __init__(self, experts: Sequence[Learner]) -> None:
        self.experts = experts
        self.widest = max(experts, key=lambda one: one.width)
        """The expert with the widest rows."""
        self.rules = [one.rule() for one in experts]
        self.parameters = tuple(rule.parameters for rule in self.rules)
        self.fresh = np.concatenate([one.state.memory for one in experts]).view(np.float64)
        """f8[words]: the experts' initial states."""
        self.fragments = tuple(
            HeterogeneousExpert(*expert_of(rule)[:3], rule.begin, self.widest.width - one.width)
            for one, rule in zip(experts, self.rules, strict=True)
        )

    def within(self, states: Array) -> tuple[Any, ...]:
        """Return each expert's memory over its part of f8[words], as kernels take it."""
        return tuple(
            as_views(rule.memory, State(one.state.fields, part), **one.scratch_arrays())
            for one, rule, part in zip(self.experts, self.rules, self._parts(states), strict=True)
        )

    def check(self, states: Array) -> None:
        """As `Learner.check_state`, for the experts' states in f8[words]."""
        for one, part in zip(self.experts, self._parts(states), strict=True):
            one.check_state(part)

    def _parts(self, states: Array) -> list[Bytes]:
        """The bytes of each expert's state in f8[words]."""
        ends = np.cumsum([one.state.nbytes for one in self.experts])
        return np.split(states.view(np.uint8), ends[:-1])


@fragment
def no_more_votes(_x: Array, _p: Any, _memory: Any) -> None:
    """End of the chain of `voting`."""


@cache
def voting(kinds: tuple[HeterogeneousExpert, ...], e: int = 0) -> Fragment:
    """Make ``vote(x, p, memory)``, which writes the predictions and votes of the experts from e on."""
    if e == len(kinds):
        return no_more_votes
    predict, choose, cut, rest = kinds[e].predict, kinds[e].predicted_class, kinds[e].cut, voting(kinds, e + 1)

    @fragment
    def vote(x: Array, p: Any, memory: Any) -> None:
        predict(x[: x.shape[0] - cut], p.base[e], memory.members[e], memory.margins, e)
        memory.votes[e] = choose(memory.members[e], memory.margins[e])
        rest(x, p, memory)

    return vote


@fragment
def no_more_lessons(_x: Array, _label: int, _p: Any, _memory: Any) -> None:
    """End of the chain of `teaching`."""


@cache
def teaching(kinds: tuple[HeterogeneousExpert, ...], e: int = 0) -> Fragment:
    """Make ``teach(x, label, p, memory)``, with which the experts from e on learn the row that they have predicted."""
    if e == len(kinds):
        return no_more_lessons
    learn, cut, rest = kinds[e].learn, kinds[e].cut, teaching(kinds, e + 1)

    @fragment
    def teach(x: Array, label: int, p: Any, memory: Any) -> None:
        learn(x[: x.shape[0] - cut], label, 1.0, p.base[e], memory.members[e], memory.margins[e])
        rest(x, label, p, memory)

    return teach


@cache
def beginning(kinds: tuple[HeterogeneousExpert, ...], e: int = 0) -> Fragment:
    """Make ``begin(p, memory)``, which calls `begin` of the experts from e on before a batch."""
    if e == len(kinds):
        return no_op
    begin, rest = kinds[e].begin, beginning(kinds, e + 1)

    @fragment
    def begin_all(p: Any, memory: Any) -> None:
        begin(p.base[e], memory.members[e])
        rest(p, memory)

    return begin_all
