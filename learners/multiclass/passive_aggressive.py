"""The multiclass passive-aggressive step, shared by `mc_pa`, `mc_pa1` and `mc_pa2`."""

import math

from driftway.learners.contract import Array, UpdateRule, fragment
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.linear.passive_aggressive import PassiveAggressiveNumbers, tau
from driftway.learners.multiclass.margins import best_wrong, step_apart
from driftway.learners.multiclass.weights import ClassWeights, products
from driftway.learners.numeric.vectors import dot


def apart(cap: float, ridge: float) -> UpdateRule:
    """The rule of a learner; cap and ridge as for two classes."""
    return UpdateRule(
        products,
        learn,
        PassiveAggressiveNumbers(cap, ridge),
        ClassWeights,
        classes=True,
        uses_weight=True,
        sharing=SharedFields(),
    )


@fragment
def learn(x: Array, label: int, omega: float, finite: bool, p: PassiveAggressiveNumbers, memory: ClassWeights) -> None:
    """Move the right class and the best wrong one apart until the margin is 1, or as far as `tau` allows.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners. A step of 1 raises the margin by 2 x'x.
    """
    rival = best_wrong(memory.S, label)
    loss = 1.0 - (memory.S[label] - memory.S[rival])
    if finite and loss <= 0.0:
        return
    x2 = 2.0 * dot(x, x)
    usable = finite and 0.0 < x2 < math.inf
    step = tau(loss, x2, omega, p)
    if not (usable and step_apart(memory.weight[label], x, memory.weight[rival], x, step)):
        memory.skipped[0] += 1
