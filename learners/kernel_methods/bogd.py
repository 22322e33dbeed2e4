"""Budgeted online gradient descent: a random row is evicted, and the coefficients of the others compensate for it."""

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Learner,
    UpdateRule,
    check_decay,
    field,
    fragment,
    integer,
    number,
    part,
    scratch,
)
from driftway.learners.kernel_methods.expansion import Kernel, KernelExpansion, KernelParameters, kernel_of, put
from driftway.learners.kernel_methods.rule import expanding
from driftway.learners.numeric.random import Words, randint, seed

CERTAIN = 1e-12
"""A row whose probability of being kept was at most this is not compensated."""


class BOGDParameters(KernelParameters):
    """Parameters of `bogd` and `bogd_pp`."""

    eta: float = number(0.1, "Step size.", above=0.0)
    lam: float = number(0.01, "Regularisation, eta lam < 1.", at_least=0.0)
    clip: float = number(10.0, "Largest coefficient, in steps; 1 lets none grow.", above=0.0)
    seed: int = integer(1, "Seed of the choice of the row to remove.", at_least=0, at_most=2**53)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_decay(self, "eta")


class BOGD(Learner):
    """Descends on the regularised hinge loss; a full budget evicts any row with the same probability.

    s = sum of a_i k(z_i, x); a <- (1 - eta lam) a, and a row with y s < 1 is stored with a = eta y. A full budget
    evicts a row with p = 1/B and divides the coefficients of the others by 1 - p, which keeps the expected function
    unchanged unless a coefficient is clipped at eta clip.

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 112 bytes.

    Source
    ------
    Zhao, Wang, Wu, Jin and Hoi, ICML 2012; Huang, Online Learning, "Online kernel learning on a budget".
    docs/algorithms/kernel_methods.md#bogd-bogd_pp. Differs: kernels other than the Gaussian are normalised.
    """

    name = "bogd"
    tasks = ("binary",)

    class Params(BOGDParameters):
        pass

    def rule(self) -> UpdateRule:
        return descending(self.parameters, self.n_features, update)

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class BOGDNumbers(NamedTuple):
    """Parameters of `bogd` and `bogd_pp`."""

    kernel: Kernel
    eta: float
    keep: float
    """1 - eta lam, the factor by which a row shrinks the coefficients."""
    largest: float
    """Bound on the absolute coefficients."""


class BOGDState(NamedTuple):
    """State of `bogd` and `bogd_pp`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels")
    generator: Words = field("u8[4]", "of the choice of the row to remove")
    share: Array = scratch("f8[B]", "probability of each to go")


def descending(p: Any, n_features: int, update: Any) -> UpdateRule:
    """The rule of a learner whose parameters are `BOGDParameters`."""
    given = BOGDNumbers(kernel_of(p, n_features, normalised=True), p.eta, 1.0 - p.eta * p.lam, p.eta * p.clip)
    return expanding(update, given, BOGDState, p.budget)


@fragment
def update(x: Array, y: float, s: float, p: BOGDNumbers, memory: BOGDState) -> None:
    """Shrink all coefficients and store the row if its margin is below 1. Shapes: x f8[d]."""
    kept, slot = memory.expansion, decay(p, memory)
    if y * s < 1.0:
        n = kept.coefficient.shape[0]
        if slot == n:
            slot = randint(memory.generator, n)
            for i in range(n):
                kept.coefficient[i] = make_up(kept.coefficient[i], 1.0 / n, p.largest)
        put(x, p.eta * y, slot, kept)


@fragment
def decay(p: BOGDNumbers, memory: BOGDState) -> int:
    """Shrink all coefficients; return the first free slot."""
    kept = memory.expansion
    for i in range(kept.used[0]):
        kept.coefficient[i] *= p.keep
    return int(kept.used[0])


@fragment
def make_up(coefficient: float, share: float, largest: float) -> float:
    """The coefficient of a row that was kept, given that it would have been evicted with probability `share`."""
    if 1.0 - share > CERTAIN:
        coefficient /= 1.0 - share
    return min(max(coefficient, -largest), largest)
