"""Budgeted passive-aggressive learning, simple form: the new row takes over the part of a stored one."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, number
from driftway.learners.kernel_methods.bandwidth import width
from driftway.learners.kernel_methods.expansion import Kernel, KernelParameters, kernel_of, put
from driftway.learners.kernel_methods.rule import KernelState, expanding


class BPAS(Learner):
    """Moves just far enough for a margin of 1, at most by C; a full budget gives one stored row's part to the new one.

    s = sum of a_i k(z_i, x); on l = 1 - y s > 0, tau = min(C, l / k(x, x)) and x is stored with a = tau y. With a full
    budget, x replaces row r with a = tau y + a_r k(z_r, x) / k(x, x), where r is the row whose projection loses least,
    a_r^2 (k(z_r, z_r) - k(z_r, x)^2 / k(x, x)).

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 80 bytes.

    Source
    ------
    Wang and Vucetic, AISTATS 2010, BPA-S; Huang, Online Learning, "Online kernel learning on a budget".
    docs/algorithms/kernel_methods.md#bpa_s, where the closed form is derived.
    """

    name = "bpa_s"
    tasks = ("binary",)

    class Params(KernelParameters):
        width: str = width("median")
        C: float = number(0.1, "Largest step. Larger = faster and more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return expanding(update, BPASNumbers(kernel_of(p, self.n_features), p.C), KernelState, p.budget)


class BPASNumbers(NamedTuple):
    """Parameters of `bpa_s`."""

    kernel: Kernel
    C: float


@fragment
def update(x: Array, y: float, s: float, p: BPASNumbers, memory: KernelState) -> None:
    """Store the row if its margin is below 1. Shapes: x f8[d]."""
    if y * s >= 1.0:
        return
    kept = memory.expansion
    itself, slot = kept.itself[0], kept.used[0]
    a = min(p.C, (1.0 - y * s) / itself) * y
    if slot == kept.coefficient.shape[0]:
        least = 0.0
        for r in range(kept.coefficient.shape[0]):
            shared = kept.near[r] / itself
            loss = kept.coefficient[r] * kept.coefficient[r] * (kept.own[r] - kept.near[r] * shared)
            if r == 0 or loss < least:
                slot, least = r, loss
        a += kept.coefficient[slot] * kept.near[slot] / itself
    put(x, a, slot, kept)
