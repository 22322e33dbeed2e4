"""One expert of an ensemble as its kernel sees it, whatever learner it is: fragments over that learner's own.

- ``predict(x, parameters, one, margins, e)``: the prediction of expert e, whose memory is `one`: the margin of two
  classes or the output; it is kept in ``margins[e]`` as it is, finite or not, until the expert is taught the row.
- ``choose(one, margin) -> int``: the class that it predicted.
- ``teach(x, y, omega, parameters, one, margin)``: learn from a row that counts omega; y is a class index or a target.
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
"""Errors of more than this count as this: they can be squared and added up."""


class Expert(NamedTuple):
    """See the module."""

    predict: Fragment
    predicted_class: Fragment
    learn: Fragment
    begin: Fragment


def expert_of(rule: UpdateRule, regression: bool = False) -> Expert:
    """The fragments for copies of a learner."""
    begin = no_op if rule.begin is no_op else beginning(rule.begin)
    if rule.classes:
        return Expert(*of_class_scores(rule.score, rule.learn), begin)
    return Expert(*(of_outputs if regression else of_margins)(rule.score, rule.learn), begin)


@cache
def beginning(begin: Fragment) -> Fragment:
    """Before a batch: let every expert, in use or not, make what follows from its state."""

    @fragment
    def begin_all(parameters: Any, memory: Any) -> None:
        for e in range(memory.states.shape[0]):
            begin(parameters.base, member(memory.members, e))

    return begin_all


@cache
def of_margins(score: Fragment, learn: Fragment) -> tuple[Fragment, Fragment, Fragment]:
    """Of a learner of two classes."""

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
    """Of a learner with one score per class, whose margin is S_1 - S_0 for two, and else 0 or not finite."""

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
    """Of a learner of targets."""

    @fragment
    def predict(x: Array, parameters: Any, one: Any, margins: Array, e: int) -> None:
        margins[e] = score(x, parameters, one)

    @fragment
    def teach(x: Array, y: float, omega: float, parameters: Any, one: Any, margin: float) -> None:
        learn(x, y, omega, margin, parameters, one)

    return predict, no_op, teach


@fragment
def finite_or_zero(output: float) -> float:
    """What an expert predicts; 0 if that is not finite."""
    return output if math.isfinite(output) else 0.0


@fragment
def distance(output: float, y: float) -> float:
    """How far an output is off the target."""
    return min(abs(finite_or_zero(output) - y), LARGEST_ERROR)


@fragment
def largest(S: Array) -> int:
    """The first of the largest of K scores, of which those that are not finite count as 0; of two, 1 if they are equal.

    Shapes: S f8[K]. As `driftway.learners.metrics.prequential.predicted_class`.
    """
    best, most = 0, finite_or_zero(S[0])
    for r in range(1, S.shape[0]):
        s = finite_or_zero(S[r])
        if s > most or (s == most and S.shape[0] == 2):
            best, most = r, s
    return best


@fragment
def renew(e: int, memory: Any) -> None:
    """Slot e has the state of a fresh expert. What a rule makes of its state is not made anew: see `begin`."""
    for word in range(memory.states.shape[1]):
        memory.states[e, word] = memory.fresh[e, word]


@fragment
def move(source: int, target: int, memory: Any) -> None:
    """Slot `target` has the state that slot `source` has; likewise."""
    for word in range(memory.states.shape[1]):
        memory.states[target, word] = memory.states[source, word]
