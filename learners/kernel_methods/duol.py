"""Double updating: a new row that contradicts a stored one moves both coefficients."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, field, fragment, number, part
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

ROUNDING = 1e-9
"""Tolerance of a margin, so that rows that were given a margin of exactly 1 have no loss."""


class DUOL(Learner):
    """Gives each row a margin of 1 as far as C allows, and moves the stored row that it contradicts most as well.

    s = sum of gamma_i y_i k(z_i, x). If l_a = 1 - y s > 0, let b be the stored row of margin below 1 with the least
    w = y y_b k(z_b, x). If w <= -rho, gamma_a and the change of gamma_b maximise
    l_a g_a + l_b g_b - (g_a^2 + g_b^2 + 2 w g_a g_b) / 2 with both coefficients within 0 and C; else gamma_a =
    min(C, l_a). A full budget evicts the oldest row.

    Cost
    ----
    O(B d) per row; 8 B (d + 4) + 80 bytes.

    Source
    ------
    Zhao, Hoi and Jin, JMLR 12, 2011; named in Zhang, Zhao and Jin, AAAI 2020. docs/algorithms/kernel_methods.md#duol,
    where the closed form is derived. Differs: the budget; kernels other than the Gaussian are normalised.
    """

    name = "duol"
    tasks = ("binary",)

    class Params(KernelParameters):
        C: float = number(1.0, "Largest coefficient.", above=0.0)
        rho: float = number(
            0.2, "How much a stored row must contradict the new one to be moved, in units of k.", at_least=0.0
        )

    def rule(self) -> UpdateRule:
        p = self.parameters
        return expanding(
            update,
            DUOLNumbers(kernel_of(p, self.n_features, normalised=True), p.C, p.rho),
            DUOLState,
            p.budget,
            renew=value_all,
        )


class DUOLNumbers(NamedTuple):
    """Parameters of `duol`."""

    kernel: Kernel
    C: float
    rho: float


class DUOLState(NamedTuple):
    """State of `duol`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels, of coefficients gamma y")
    label: Array = field("f8[B]", "y of each stored row, -1 or 1")
    value: Array = field("f8[B]", "f at each stored row")


@fragment
def update(x: Array, y: float, s: float, p: DUOLNumbers, memory: DUOLState) -> None:
    """Store the row if its margin is below 1 and update the contradicting row. Shapes: x f8[d]."""
    loss = 1.0 - y * s
    if loss <= 0.0:
        return
    kept, label, value = memory.expansion, memory.label, memory.value
    b, w = most_contrary(y, memory)
    gain = min(p.C, loss)
    if b >= 0 and w <= -p.rho:
        gain, moved = best_pair(loss, 1.0 - label[b] * value[b], w, kept.coefficient[b] * label[b], p.C)
        kept.coefficient[b] += moved * label[b]
        s += add_to_values(b, moved * label[b], p, memory)
    for i in range(kept.used[0]):
        value[i] += gain * y * kept.near[i]
    slot = oldest(kept)
    if slot < kept.used[0]:
        s += add_to_values(slot, -kept.coefficient[slot], p, memory)
    put(x, gain * y, slot, kept)
    label[slot], value[slot] = y, s + gain * y


@fragment
def add_to_values(slot: int, change: float, p: DUOLNumbers, memory: DUOLState) -> float:
    """Apply a change of a stored row's coefficient to the stored values; return the change of the score."""
    kept = memory.expansion
    support_vector(slot, p.kernel, kept)
    for i in range(kept.used[0]):
        memory.value[i] += change * kept.across[i]
    return float(change * kept.near[slot])


@fragment
def most_contrary(y: float, memory: DUOLState) -> tuple[int, float]:
    """The stored row of margin below 1 with the least w = y y_b k, or -1 if there is none; and w."""
    kept = memory.expansion
    b, least = -1, math.inf
    for i in range(kept.used[0]):
        w = y * memory.label[i] * kept.near[i]
        if w < least and 1.0 - memory.label[i] * memory.value[i] > ROUNDING:
            b, least = i, w
    return b, least


@fragment
def best_pair(loss: float, other: float, w: float, gamma_b: float, C: float) -> tuple[float, float]:
    """gamma_a and the change of gamma_b: the unconstrained optimum, or else each brought within its bounds in turn."""
    rest = max(0.0, 1.0 - w * w)  # if 0, both are unbounded
    gain, moved = (loss - w * other) / rest, (other - w * loss) / rest
    inside = 0.0 <= gain <= C and -gamma_b <= moved <= C - gamma_b
    if not inside:
        gain = min(max(gain, 0.0), C)
        moved = min(max(other - w * gain, -gamma_b), C - gamma_b)
        gain = min(max(loss - w * moved, 0.0), C)
    return gain, moved


@fragment
def value_all(p: DUOLNumbers, memory: DUOLState) -> None:
    """Recompute the values at all stored rows."""
    kept = memory.expansion
    for i in range(kept.used[0]):
        support_vector(i, p.kernel, kept)
        memory.value[i] = kernel_sum(kept.across, kept)
