"""The randomised budget perceptron: it evicts a random stored row."""

from typing import NamedTuple

import numpy as np

from driftway.learners.contract import Array, Learner, UpdateRule, field, fragment, integer, part
from driftway.learners.kernel_methods.expansion import Kernel, KernelExpansion, KernelParameters, kernel_of, put
from driftway.learners.kernel_methods.rule import expanding
from driftway.learners.numeric.random import Words, randint, seed


class RBP(Learner):
    """Stores every row that it gets wrong; a full budget evicts a random one.

    s = sum of y_i k(z_i, x); a row with y s <= 0 is stored. Stored rows are of any age, old ones being rarer, and no
    adversary can choose rows against it.

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 112 bytes.

    Source
    ------
    Cavallanti, Cesa-Bianchi and Gentile, Machine Learning 69, 2007; Huang, Online Learning, "SV removal".
    docs/algorithms/kernel_methods.md#rbp.
    """

    name = "rbp"
    tasks = ("binary",)

    class Params(KernelParameters):
        seed: int = integer(1, "Seed of the choice of the row to remove.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        return expanding(
            update, RBPNumbers(kernel_of(self.parameters, self.n_features)), RBPState, self.parameters.budget
        )

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class RBPNumbers(NamedTuple):
    """Parameters of `rbp`."""

    kernel: Kernel


class RBPState(NamedTuple):
    """State of `rbp`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels")
    generator: Words = field("u8[4]", "of the choice of the row to remove")


@fragment
def update(x: Array, y: float, s: float, _p: RBPNumbers, memory: RBPState) -> None:
    """Store the row if it is misclassified. Shapes: x f8[d]."""
    if y * s <= 0.0:
        kept = memory.expansion
        slot = kept.used[0]
        if slot == kept.coefficient.shape[0]:
            slot = randint(memory.generator, slot)
        put(x, y, slot, kept)
