"""NORMA with a kernel: a sum over the last rows of small margin, with weights that decay with age."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, check_decay, fragment, number
from driftway.learners.kernel_methods.expansion import Kernel, KernelParameters, kernel_of, oldest, put, shrink
from driftway.learners.kernel_methods.rule import KernelState, expanding


class KernelNORMAParameters(KernelParameters):
    """Parameters shared by `kernel_norma` and `kernel_norma_zero_margin`."""

    alpha: float = number(0.3, "Step size.", above=0.0)
    lam: float = number(
        0.01, "Decay, 0 <= lam < 1/alpha: coefficients lose their share alpha lam at every labelled row.", at_least=0.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_decay(self, "alpha")


class KernelNORMA(Learner):
    """Stores rows of small margin and forgets the old ones at a steady rate.

    s = sum of a_i k(z_i, x). At every row a <- (1 - alpha lam) a; one with y s <= rho is stored with a = alpha y, in
    place of the oldest one once the budget is full. A row of age t weighs at most alpha (1 - alpha lam)^t, and
    dropping all older ones moves the function by no more than X (1 - alpha lam)^t / lam in norm, X^2 = max k(x, x).

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 80 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), sections 3 and 5; the truncation is theirs in Online learning with
    kernels, cited there. docs/algorithms/kernel_methods.md#kernel_norma-kernel_norma_zero_margin. Differs: the budget.
    """

    name = "kernel_norma"
    tasks = ("binary",)

    class Params(KernelNORMAParameters):
        rho: float = number(0.5, "Margin up to which a row is stored, in units of the score.", at_least=0.0)

    def rule(self) -> UpdateRule:
        return forgetting(self.parameters, self.n_features, self.parameters.rho)


class KernelNORMANumbers(NamedTuple):
    """Parameters of `kernel_norma` and `kernel_norma_zero_margin`."""

    kernel: Kernel
    alpha: float
    rho: float
    """Margin up to which a row is stored."""
    keep: float
    """1 - alpha lam, the factor by which a row shrinks the coefficients."""


def forgetting(p: Any, n_features: int, rho: float) -> UpdateRule:
    """The rule of a learner with `KernelNORMAParameters` that stores rows up to the margin rho."""
    given = KernelNORMANumbers(kernel_of(p, n_features), p.alpha, rho, 1.0 - p.alpha * p.lam)
    return expanding(update, given, KernelState, p.budget)


@fragment
def update(x: Array, y: float, s: float, p: KernelNORMANumbers, memory: KernelState) -> None:
    """Shrink all coefficients and store the row if its margin is at most rho. Shapes: x f8[d]. KSW equation 2."""
    kept = memory.expansion
    shrink(p.keep, kept)
    if y * s <= p.rho:
        put(x, p.alpha * y / kept.scale[0], oldest(kept), kept)
