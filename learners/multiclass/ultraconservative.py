"""Multiclass perceptrons: on a mistake, the step of the right class is taken from classes that scored too high."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, UpdateRule, fragment
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.multiclass.margins import best_wrong, mistaken, step_apart, step_each
from driftway.learners.multiclass.weights import ClassWeights, products

MAX, UNIFORM, SIMILARITY = range(3)
"""Classes to step down: the highest wrong one, all that scored too high equally, or each by its excess."""


class UltraconservativeNumbers(NamedTuple):
    """Parameters of the family."""

    rule: int
    """`MAX`, `UNIFORM` or `SIMILARITY`."""


def correct(rule: int) -> UpdateRule:
    """The update rule for one of the three variants."""
    return UpdateRule(
        products,
        learn,
        UltraconservativeNumbers(rule),
        ClassWeights,
        classes=True,
        uses_weight=True,
        sharing=SharedFields(),
    )


@fragment
def learn(x: Array, label: int, omega: float, finite: bool, p: UltraconservativeNumbers, memory: ClassWeights) -> None:
    """If the row is misclassified, move the right class and those that the variant selects.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners. The steps of all classes sum to 0.
    """
    rival = best_wrong(memory.S, label)
    if finite and not mistaken(memory.S, label, rival):
        return
    if not finite:
        moved = False
    elif p.rule == MAX:
        moved = step_apart(memory.weight[label], x, memory.weight[rival], x, omega)
    else:
        steps = memory.S  # overwrites the scores, which are no longer needed
        moved = share_out(steps, label, omega, p.rule == SIMILARITY) and step_each(memory.weight, x, steps)
    if not moved:
        memory.skipped[0] += 1


@fragment
def share_out(S: Array, label: int, omega: float, by_excess: bool) -> bool:
    """Turn scores into steps: omega for the right class, -omega in total for E, the wrong ones that score no less.

    Shapes: S f8[K] overwritten. Returns whether the steps are finite.
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
            # Without excess, all of E tie with the right class.
            S[r] = -omega * ((S[r] - right) / excess if by_excess and excess > 0.0 else 1.0 / members)
        else:
            S[r] = 0.0
    return excess < math.inf
