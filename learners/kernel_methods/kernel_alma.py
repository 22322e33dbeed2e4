"""ALMA with a kernel: large margins within a ball of functions."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, field, fragment, number, part
from driftway.learners.kernel_methods.expansion import (
    Kernel,
    KernelExpansion,
    KernelParameters,
    kernel_of,
    kernel_sum,
    oldest,
    put,
    shrink,
    support_vector,
)
from driftway.learners.kernel_methods.rule import expanding

ADDITIONS = 10
"""Stored rows, as a multiple of the budget, after which the norm is recomputed to undo rounding errors."""


class KernelALMAParameters(KernelParameters):
    """Parameters shared by `kernel_alma` and `kernel_alma_zero_margin`."""

    alpha: float = number(0.3, "Step size.", above=0.0)
    B: float = number(3.0, "Largest norm of the function; larger ones are scaled back.", above=0.0)


class KernelALMA(Learner):
    """Stores rows of small margin and keeps the function in a ball, so that the past cannot outweigh the present.

    f = sum of a_i k(z_i, .). A row with y f(x) <= rho is stored with a = alpha y, in place of the oldest one once the
    budget is full; then f <- f / max(1, |f| / B). |f| is updated along with f, not summed for each row.

    Cost
    ----
    O(B d) per row, and B times that after every 10 B stored rows; 8 B (d + 2) + 88 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), sections 3 and 5: ALMA simplified to fixed alpha and rho.
    docs/algorithms/kernel_methods.md#kernel_alma-kernel_alma_zero_margin. Differs: the budget.
    """

    name = "kernel_alma"
    tasks = ("binary",)

    class Params(KernelALMAParameters):
        rho: float = number(0.5, "Margin up to which a row is stored, in units of the score.", at_least=0.0)

    def rule(self) -> UpdateRule:
        return within_ball(self.parameters, self.n_features, self.parameters.rho)


class KernelALMANumbers(NamedTuple):
    """Parameters of `kernel_alma` and `kernel_alma_zero_margin`."""

    kernel: Kernel
    alpha: float
    rho: float
    """Margin up to which a row is stored."""
    radius: float
    """Largest norm of the function."""


class KernelALMAState(NamedTuple):
    """State of `kernel_alma`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels")
    squared: Array = field("f8[1]", "|f|^2")


def within_ball(p: Any, n_features: int, rho: float) -> UpdateRule:
    """The rule of a learner with `KernelALMAParameters` that stores rows up to the margin rho."""
    return expanding(
        update,
        KernelALMANumbers(kernel_of(p, n_features), p.alpha, rho, p.B),
        KernelALMAState,
        p.budget,
        renew=recompute_norm,
    )


@fragment
def update(x: Array, y: float, s: float, p: KernelALMANumbers, memory: KernelALMAState) -> None:
    """Store the row if its margin is at most rho, then scale f into the ball. Shapes: x f8[d]. KSW section 3."""
    if y * s > p.rho:
        return
    kept = memory.expansion
    slot, squared = oldest(kept), memory.squared[0]
    if slot < kept.used[0]:  # f without the oldest row h: |f|^2 - 2 c f(h) + c^2 k(h, h)
        support_vector(slot, p.kernel, kept)
        c = kept.scale[0] * kept.coefficient[slot]
        squared = max(
            0.0, squared - 2.0 * c * kept.scale[0] * kernel_sum(kept.across, kept) + c * c * kept.across[slot]
        )
        s -= c * kept.near[slot]
    squared += 2.0 * p.alpha * y * s + p.alpha * p.alpha * kept.itself[0]
    if not squared < math.inf:
        kept.skipped[0] += 1
        return
    put(x, p.alpha * y / kept.scale[0], slot, kept)
    beta = max(1.0, math.sqrt(max(0.0, squared)) / p.radius)
    memory.squared[0] = squared / (beta * beta)
    shrink(1.0 / beta, kept)
    if kept.taken[0] % (ADDITIONS * kept.coefficient.shape[0]) == 0:
        recompute_norm(p, memory)


@fragment
def recompute_norm(p: KernelALMANumbers, memory: KernelALMAState) -> None:
    """Recompute |f|^2 from the coefficients and the kernel values of all pairs of stored rows."""
    kept = memory.expansion
    total = 0.0
    for i in range(kept.used[0]):
        support_vector(i, p.kernel, kept)
        total += kept.coefficient[i] * kernel_sum(kept.across, kept)
    memory.squared[0] = max(0.0, kept.scale[0] * kept.scale[0] * total)
