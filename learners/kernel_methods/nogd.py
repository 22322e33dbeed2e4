"""Nystroem online gradient descent: fill the budget with rows, then learn linearly on their main directions."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    UpdateRule,
    field,
    fragment,
    integer,
    kernel,
    number,
    part,
    scratch,
)
from driftway.learners.kernel_methods.bandwidth import width_of_rows
from driftway.learners.kernel_methods.expansion import (
    Kernel,
    KernelExpansion,
    KernelParameters,
    compare_all,
    kernel_of,
    kernel_sum,
    kernel_values,
    put,
)
from driftway.learners.kernel_methods.rule import learning
from driftway.learners.numeric.symmetric import diagonalise
from driftway.learners.numeric.vectors import axpy_guarded, dot

NOTHING = 1e-10
"""Share of the largest eigenvalue below which directions are left out."""


class NOGD(Learner):
    """Stores rows until the budget is full, then descends in the `rank` main directions of their kernel matrix.

    Until then s = sum of a_i k(z_i, x) and a row with y s < 1 is stored with a = eta y. With K = V D V' of the stored
    rows, restricted to its largest eigenvalues, z = D^-1/2 V' k(x), s = w.z and w <- w + eta y z on y s < 1; w starts
    as D^1/2 V' a, which is the same function. The stored rows never change again.

    Cost
    ----
    O(B (d + r)) per row, once O(B^3); 8 B (d + r + 2) + 8 r + 88 bytes, r = rank.

    Source
    ------
    Lu, Hoi, Wang, Zhao and Liu, JMLR 17, 2016, NOGD; Huang, Online Learning, "Kernel approximation".
    docs/algorithms/kernel_methods.md#nogd.
    """

    name = "nogd"
    tasks = ("binary",)

    class Params(KernelParameters):
        width: str = width_of_rows()
        rank: int = integer(20, "Number of directions, <= budget.", at_least=1)
        eta: float = number(0.1, "Step size.", above=0.0)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.rank > self.budget:
                raise ParameterError(f"rank must be <= budget = {self.budget}, got {self.rank}")

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = NOGDNumbers(kernel_of(p, self.n_features), p.eta)
        return UpdateRule(score, learning(update, again), given, NOGDState, {"B": p.budget, "R": p.rank})


class NOGDNumbers(NamedTuple):
    """Parameters of `nogd`."""

    kernel: Kernel
    eta: float


class NOGDState(NamedTuple):
    """State of `nogd`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels, and the rows for good once there are B")
    direction: Array = field("f8[R, B]", "M = D^-1/2 V', largest eigenvalue first")
    weight: Array = field("f8[R]", "w")
    settled: Counts = field("i8[1]", "1 once the directions are known")
    z: Array = scratch("f8[R]", "M k(x)")
    gram: Array = scratch("f8[B, B]", "K")
    values: Array = scratch("f8[B, B]", "D, in units of K's largest entry")
    vectors: Array = scratch("f8[B, B]", "V, by rows")


@fragment
def score(x: Array, p: NOGDNumbers, memory: NOGDState) -> float:
    """The score; leaves the kernel values and z in memory. Shapes: x f8[d]."""
    kept = memory.expansion
    kept.itself[0] = kernel_values(x, p.kernel, kept, kept.near)
    if memory.settled[0] == 0:
        return kernel_sum(kept.near, kept)
    for r in range(memory.z.shape[0]):
        memory.z[r] = dot(memory.direction[r], kept.near)
    return dot(memory.weight, memory.z)


@fragment
def update(x: Array, y: float, s: float, p: NOGDNumbers, memory: NOGDState) -> None:
    """Store the row or step along its z if its margin is below 1. Shapes: x f8[d]."""
    if y * s >= 1.0:
        return
    kept = memory.expansion
    if memory.settled[0] == 1:
        if not axpy_guarded(memory.weight, memory.z, p.eta * y):
            kept.skipped[0] += 1
        return
    put(x, p.eta * y, kept.used[0], kept)
    if kept.used[0] == kept.coefficient.shape[0]:
        settle(p, memory)


@fragment
def again(p: NOGDNumbers, memory: NOGDState) -> None:
    """Recompute the directions after a change of width."""
    if memory.settled[0] == 1:
        settle(p, memory)


@kernel
def settle(p: NOGDNumbers, memory: NOGDState) -> None:
    """Compute directions and weights from the stored rows and their coefficients."""
    kept, gram = memory.expansion, memory.gram
    n = gram.shape[0]
    compare_all(p.kernel, kept, gram)
    unit, values = diagonalise(gram, memory.values, memory.vectors), memory.values
    largest = 0.0
    for i in range(n):
        largest = max(largest, values[i, i])
    for r in range(memory.weight.shape[0]):
        best = 0
        for i in range(1, n):
            if values[i, i] > values[best, best]:
                best = i
        known = values[best, best] > NOTHING * largest
        value = unit * values[best, best]
        values[best, best] = -1.0
        memory.weight[r] = 0.0
        for i in range(n):
            memory.direction[r, i] = memory.vectors[best, i] / math.sqrt(value) if known else 0.0
            if known:
                memory.weight[r] += math.sqrt(value) * memory.vectors[best, i] * kept.coefficient[i]
    memory.settled[0] = 1
