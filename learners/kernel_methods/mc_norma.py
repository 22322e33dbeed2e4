"""Multiclass NORMA with a kernel."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, check_decay, fragment, number
from driftway.learners.kernel_methods.expansion import Kernel, kernel_of, shrink
from driftway.learners.kernel_methods.multiclass import (
    ClassExpansion,
    MulticlassKernelParameters,
    expanding_classes,
    put_apart,
)
from driftway.learners.multiclass.margins import best_wrong


class MCNORMA(Learner):
    """Stores rows of small margin over the best wrong class and forgets the old ones at a steady rate.

    S_r = sum of a_ir k(z_i, x). At every row a <- (1 - alpha lam) a; one with S_y - S_s <= rho over the best wrong
    class s is stored with a = alpha for its class and -alpha for s, in place of the oldest once the budget is full.

    Cost
    ----
    O(B (d + K)) per row; 8 B (d + K + 2) + 80 bytes.

    Source
    ------
    Kivinen, Smola and Williamson, Online learning with kernels, 2004; Huang, Online Learning, "Multi-class Online
    Learning". docs/algorithms/kernel_methods.md#mc_kernel_perceptron-mc_norma. Differs: the budget.
    """

    name = "mc_norma"
    tasks = ("binary", "multiclass")

    class Params(MulticlassKernelParameters):
        alpha: float = number(0.1, "Step size.", above=0.0)
        lam: float = number(
            0.01,
            "Decay, 0 <= lam < 1/alpha: coefficients lose their share alpha lam at every labelled row.",
            at_least=0.0,
        )
        rho: float = number(1.0, "Margin up to which a row is stored, in units of the score.", at_least=0.0)

        def __post_init__(self) -> None:
            super().__post_init__()
            check_decay(self, "alpha")

    def rule(self) -> UpdateRule:
        p = self.parameters
        return expanding_classes(
            update, MCNORMANumbers(kernel_of(p, self.n_features), p.alpha, p.rho, 1.0 - p.alpha * p.lam), p.budget
        )


class MCNORMANumbers(NamedTuple):
    """Parameters of `mc_norma`."""

    kernel: Kernel
    alpha: float
    rho: float
    """Margin up to which a row is stored."""
    keep: float
    """1 - alpha lam, the factor by which a row shrinks the coefficients."""


@fragment
def update(x: Array, label: int, p: MCNORMANumbers, memory: ClassExpansion) -> None:
    """Shrink all coefficients and store the row if its margin is at most rho. Shapes: x f8[d]."""
    kept = memory.expansion
    before = kept.scale[0]
    shrink(p.keep, kept)
    if kept.scale[0] > before:  # the common factor has been multiplied in
        for i in range(kept.used[0]):
            for r in range(memory.share.shape[1]):
                memory.share[i, r] *= before * p.keep
    rival = best_wrong(memory.S, label)
    if memory.S[label] - memory.S[rival] <= p.rho:
        put_apart(x, p.alpha / kept.scale[0], label, rival, memory)
