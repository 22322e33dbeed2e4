"""Perceptrons of several classes: on a mistake, classes that scored too high pay for what the right one is given."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, UpdateRule, fragment
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.multiclass.margins import best_wrong, mistaken, step_apart, step_each
from driftway.learners.multiclass.weights import ClassWeights, products

MAX, UNIFORM, SIMILARITY = range(3)
"""Who pays: the highest wrong class, all that scored too high alike, or each by how much."""


class Blame(NamedTuple):
    """Parameters of the family."""

    rule: int
    """Who pays: one of the three above."""


def correct(rule: int) -> UpdateRule:
    """The rule of a learner."""
    return UpdateRule(
        products, learn, Blame(rule), ClassWeights, classes=True, uses_weight=True, sharing=SharedFields()
    )


@fragment
def learn(x: Array, label: int, omega: float, finite: bool, p: Blame, memory: ClassWeights) -> None:
    """If another class is predicted than the row's, move the right one and those that the rule names.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners. The steps of all classes add up to 0.
    """
    rival = best_wrong(memory.S, label)
    if finite and not mistaken(memory.S, label, rival):
        return
    if not finite:
        moved = False
    elif p.rule == MAX:
        moved = step_apart(memory.weight[label], x, memory.weight[rival], x, omega)
    else:
        steps = memory.S  # the scores themselves are needed no longer
        moved = share_out(steps, label, omega, p.rule == SIMILARITY) and step_each(memory.weight, x, steps)
    if not moved:
        memory.skipped[0] += 1


@fragment
def share_out(S: Array, label: int, omega: float, by_excess: bool) -> bool:
    """Turn scores into steps: omega of the right class, together -omega of E, the wrong ones that score no less.

    Shapes: S f8[K] overwritten. Says whether the steps are finite.
    """
    right, excess, members = S[label], 0.0, 0
    for r in range(S.shape[0]):
        if r != label and S[r] >= right:
            excess += S[r] - right
            members += 1
    for r in range(S.shape[0]):
        if r == label:
            S[r] = omega
        elif S[r] >= right:
            # Without excess, all of E is level with the right class.
            S[r] = -omega * ((S[r] - right) / excess if by_excess and excess > 0.0 else 1.0 / members)
        else:
            S[r] = 0.0
    return excess < math.inf
