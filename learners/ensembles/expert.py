"""The interface of an ensemble's kernel to one expert, whatever its learner: fragments around the learner's own.

- ``predict(x, parameters, one, margins, e)``: write the prediction of expert e, whose memory is `one`, to
  ``margins[e]``: the binary margin or the output, finite or not. It is needed there until the expert learns the row.
- ``predicted_class(one, margin) -> int``: the class that it predicted.
- ``learn(x, y, omega, parameters, one, margin)``: learn a row of weight omega; y is a class index or a target.
- ``begin(parameters, memory)``: before a batch, for all experts.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, UpdateRule, fragment
from driftway.learners.engine.jit import member
from driftway.learners.engine.update_loop import no_op

Fragment = Callable[..., Any]
LARGEST_ERROR = 1e140
"""Bound of errors, so that they can be squared and summed."""


class Expert(NamedTuple):
    """The fragments of an expert, see the module."""

    predict: Fragment
    predicted_class: Fragment
    learn: Fragment
    begin: Fragment


def expert_of(rule: UpdateRule, regression: bool = False) -> Expert:
    """Return the fragments for copies of a learner."""
    begin = no_op if rule.begin is no_op else beginning(rule.begin)
    if rule.classes:
        return Expert(*of_class_scores(rule.score, rule.learn), begin)
    return Expert(*(of_outputs if regression else of_margins)(rule.score, rule.learn), begin)


@cache
def beginning(begin: Fragment) -> Fragment:
    """Make `begin` for all experts, in use or not, from that of one expert."""

    @fragment
    def begin_all(parameters: Any, memory: Any) -> None:
        for e in range(memory.states.shape[0]):
            begin(parameters.base, member(memory.members, e))

    return begin_all


@cache
def of_margins(score: Fragment, learn: Fragment) -> tuple[Fragment, Fragment, Fragment]:
    """Make the fragments for a binary learner with one score."""

    @fragment
    def predict(x: Array, parameters: Any, one: Any, margins: Array, e: int) -> None:
        margins[e] = score(x, parameters, one)

    @fragment
    def choose(_one: Any, margin: float) -> int:
        return 1 if finite_or_zero(margin) >= 0.0 else 0  # as `predicted_class`

    @fragment
    def teach(x: Array, label: float, omega: float, parameters: Any, one: Any, margin: float) -> None:
        learn(x, 2.0 * label - 1.0, omega, margin, parameters, one)

    return predict, choose, teach


@cache
def of_class_scores(score: Fragment, learn: Fragment) -> tuple[Fragment, Fragment, Fragment]:
    """Make the fragments for a learner with one score per class; its margin is S_1 - S_0 for two, else 0 or NaN."""

    @fragment
    def predict(x: Array, parameters: Any, one: Any, margins: Array, e: int) -> None:
        score(x, parameters, one)
        if one.S.shape[0] == 2:
            margins[e] = one.S[1] - one.S[0]
        else:
            margins[e] = 0.0
            for r in range(one.S.shape[0]):
                margins[e] += one.S[r] - one.S[r]

    @fragment
    def choose(one: Any, margin: float) -> int:
        if one.S.shape[0] == 2:
            return 1 if finite_or_zero(margin) >= 0.0 else 0
        return largest(one.S)

    @fragment
    def teach(x: Array, label: float, omega: float, parameters: Any, one: Any, margin: float) -> None:
        learn(x, int(label), omega, math.isfinite(margin), parameters, one)

    return predict, choose, teach


@cache
def of_outputs(score: Fragment, learn: Fragment) -> tuple[Fragment, Fragment, Fragment]:
    """Make the fragments for a regressor."""

    @fragment
    def predict(x: Array, parameters: Any, one: Any, margins: Array, e: int) -> None:
        margins[e] = score(x, parameters, one)

    @fragment
    def teach(x: Array, y: float, omega: float, parameters: Any, one: Any, margin: float) -> None:
        learn(x, y, omega, margin, parameters, one)

    return predict, no_op, teach


@fragment
def finite_or_zero(output: float) -> float:
    """Return an expert's output, or 0 if it is not finite."""
    return output if math.isfinite(output) else 0.0


@fragment
def distance(output: float, y: float) -> float:
    """Return the bounded absolute error of an output."""
    return min(abs(finite_or_zero(output) - y), LARGEST_ERROR)


@fragment
def largest(S: Array) -> int:
    """Return the first index of the largest of K scores; of two equal ones 1. Non-finite scores count as 0.

    Shapes: S f8[K]. As in `driftway.learners.metrics.prequential.predicted_class`.
    """
    best, most = 0, finite_or_zero(S[0])
    for r in range(1, S.shape[0]):
        s = finite_or_zero(S[r])
        if s > most or (s == most and S.shape[0] == 2):
            best, most = r, s
    return best


@fragment
def renew(e: int, memory: Any) -> None:
    """Reset slot e to the initial state. Scratch that a rule derives from its state is only updated by `begin`."""
    for word in range(memory.states.shape[1]):
        memory.states[e, word] = memory.fresh[e, word]


@fragment
def move(source: int, target: int, memory: Any) -> None:
    """Copy the state of slot `source` to slot `target`; scratch as in `renew`."""
    for word in range(memory.states.shape[1]):
        memory.states[target, word] = memory.states[source, word]
