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

from learners.contract import Array, Rule, fragment
from learners.driver import nothing
from learners.jit import member

Fragment = Callable[..., Any]


class Expert(NamedTuple):
    """See the module."""

    predict: Fragment
    choose: Fragment
    teach: Fragment
    begin: Fragment


def expert_of(rule: Rule, regression: bool = False) -> Expert:
    """The fragments for copies of a learner."""
    begin = nothing if rule.begin is nothing else beginning(rule.begin)
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
        return 0 if margin < 0.0 and margin > -math.inf else 1  # as `predicted_class`: what is not finite counts as 0

    @fragment
    def teach(x: Array, label: int, omega: float, parameters: Any, one: Any, margin: float) -> None:
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
            return 0 if margin < 0.0 and margin > -math.inf else 1
        return largest(one.S)

    @fragment
    def teach(x: Array, label: int, omega: float, parameters: Any, one: Any, margin: float) -> None:
        learn(x, label, omega, math.isfinite(margin), parameters, one)

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

    return predict, nothing, teach


@fragment
def finite_or_zero(output: float) -> float:
    """What an expert predicts; 0 if that is not finite."""
    return output if math.isfinite(output) else 0.0


@fragment
def largest(S: Array) -> int:
    """The first of the largest of K scores, of which those that are not finite count as 0; of two, 1 if they are equal.

    Shapes: S f8[K]. As `learners.prequential.predicted_class`.
    """
    best, most = 0, S[0] if math.isfinite(S[0]) else 0.0
    for r in range(1, S.shape[0]):
        s = S[r] if math.isfinite(S[r]) else 0.0
        if s > most or (s == most and S.shape[0] == 2):
            best, most = r, s
    return best
