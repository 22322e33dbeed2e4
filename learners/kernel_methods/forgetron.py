"""The forgetron: all coefficients shrink before the oldest row is evicted, so that its removal costs little."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, field, fragment, part
from driftway.learners.kernel_methods.expansion import (
    Kernel,
    KernelExpansion,
    KernelParameters,
    kernel_of,
    kernel_sum,
    oldest,
    put,
    support_vector,
)
from driftway.learners.kernel_methods.rule import expanding

DAMAGE = 15.0 / 32.0
"""Damage per mistake that shrinking and evicting rows may cause."""


class Forgetron(Learner):
    """Stores every row that it gets wrong; before the oldest is evicted, all shrink so that its removal matters less.

    s = sum of a_i k(z_i, x), k(x, x) = 1. A row with y s <= 0 is stored with a = y. Over the budget all are multiplied
    by the largest phi <= 1 for which the total damage, Q + (a_r phi)^2 + 2 a_r phi (1 - phi f(z_r)) for the oldest row
    r with its sign taken as positive, is at most 15/32 of the mistakes; then r is evicted.

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 96 bytes.

    Source
    ------
    Dekel, Shalev-Shwartz and Singer, SIAM Journal on Computing 37, 2008, the self-tuned form; Huang, Online Learning,
    "SV removal". docs/algorithms/kernel_methods.md#forgetron. Differs: kernels other than the Gaussian are normalised.
    """

    name = "forgetron"
    tasks = ("binary",)

    class Params(KernelParameters):
        pass

    def rule(self) -> UpdateRule:
        return expanding(
            update,
            ForgetronNumbers(kernel_of(self.parameters, self.n_features, normalised=True)),
            ForgetronState,
            self.parameters.budget,
        )


class ForgetronNumbers(NamedTuple):
    """Parameters of `forgetron`."""

    kernel: Kernel


class ForgetronState(NamedTuple):
    """State of `forgetron`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels")
    damage: Array = field("f8[1]", "Q, damage of shrinking and removing rows")
    mistakes: Array = field("f8[1]", "M, so far")


@fragment
def update(x: Array, y: float, s: float, p: ForgetronNumbers, memory: ForgetronState) -> None:
    """Store the row if it is misclassified. Shapes: x f8[d]."""
    if y * s > 0.0:
        return
    kept = memory.expansion
    memory.mistakes[0] += 1.0
    slot, phi = oldest(kept), 1.0
    if slot < kept.used[0]:
        support_vector(slot, p.kernel, kept)
        f_r = kernel_sum(kept.across, kept) + y * kept.near[slot]
        a_r = kept.coefficient[slot]
        delta, mu = abs(a_r), math.copysign(1.0, a_r) * f_r
        square, linear = delta * delta - 2.0 * delta * mu, 2.0 * delta
        phi = largest_root(square, linear, memory.damage[0] - DAMAGE * memory.mistakes[0])
        memory.damage[0] += square * phi * phi + linear * phi
        for i in range(kept.used[0]):
            kept.coefficient[i] *= phi
    put(x, phi * y, slot, kept)


@fragment
def largest_root(square: float, linear: float, constant: float) -> float:
    """The largest phi in [0, 1] with square phi^2 + linear phi + constant <= 0, for linear >= 0 >= constant.

    In rationalised form, which is valid for either sign of `square`.
    """
    if square + linear + constant <= 0.0:
        return 1.0
    root = math.sqrt(max(0.0, linear * linear - 4.0 * square * constant))
    return min(max(-2.0 * constant / (linear + root), 0.0), 1.0)
