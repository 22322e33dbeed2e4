"""The projectron: a row that is nearly a combination of the stored ones is projected onto them instead of stored."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Learner,
    UpdateRule,
    field,
    fragment,
    kernel,
    number,
    part,
    scratch,
)
from driftway.learners.kernel_methods.bandwidth import width
from driftway.learners.kernel_methods.expansion import (
    Kernel,
    KernelExpansion,
    KernelParameters,
    compare_all,
    kernel_of,
    put,
)
from driftway.learners.kernel_methods.rule import expanding
from driftway.learners.numeric.symmetric import inverse

DEPENDENT = 1e-8
"""Share of k(x, x) below which a squared distance from the span is too small to store: the inverse would break down."""
RIDGE = 1e-10
"""Added to k(z, z) when the inverse is recomputed."""


class ProjectronParameters(KernelParameters):
    """Parameters of `projectron` and `projectron_pp`."""

    width: str = width("median")
    eta: float = number(
        0.1,
        "Distance from the span of the stored rows, in units of sqrt k, from which a row is stored.",
        at_least=0.0,
    )


class Projectron(Learner):
    """Learns every row that it gets wrong, by storing it or, near the span of those stored, by projecting it onto them.

    s = sum of a_i k(z_i, x). On y s <= 0, with d = K^-1 k(x) and delta^2 = k(x, x) - k(x).d: if delta > eta and the
    budget has room, x is stored with a = y; else a <- a + y d, which is the row's projection. Rows are never evicted:
    a projected mistake costs at most eta in norm while the budget has room, and any amount once it is full.

    Cost
    ----
    O(B d) per row, O(B^2) for each mistake; 8 B (d + B + 2) + 80 bytes.

    Source
    ------
    Orabona, Keshet and Caputo, JMLR 10, 2009, figure 1; Huang, Online Learning, "SV projection".
    docs/algorithms/kernel_methods.md#projectron-projectron_pp. Differs: the budget.
    """

    name = "projectron"
    tasks = ("binary",)

    class Params(ProjectronParameters):
        pass

    def rule(self) -> UpdateRule:
        p = self.parameters
        return expanding(
            update, ProjectronNumbers(kernel_of(p, self.n_features), p.eta), ProjectronState, p.budget, renew=invert
        )


class ProjectronNumbers(NamedTuple):
    """Parameters of `projectron` and `projectron_pp`."""

    kernel: Kernel
    eta: float


class ProjectronState(NamedTuple):
    """State of `projectron` and `projectron_pp`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels")
    inverse: Array = field("f8[B, B]", "K^-1 of the stored rows; bitwise symmetric")
    made_of: Array = scratch("f8[B]", "d = K^-1 k(x), of what stored rows the row is made")
    gram: Array = scratch("f8[B, B]", "K")
    factor: Array = scratch("f8[B, B]", "its factor")


@fragment
def update(x: Array, y: float, s: float, p: ProjectronNumbers, memory: ProjectronState) -> None:
    """Store or project the row if it is misclassified. Shapes: x f8[d]."""
    if y * s <= 0.0:
        take_in(x, y, residual(memory), p, memory)


@fragment
def residual(memory: ProjectronState) -> float:
    """Write d; return delta^2, the row's squared distance from the span of the stored rows."""
    kept, d = memory.expansion, memory.made_of
    n = kept.used[0]
    for i in range(n):
        d[i] = 0.0
    for j in range(n):
        column, value = memory.inverse[j], kept.near[j]
        for i in range(n):
            d[i] += column[i] * value
    inside = 0.0
    for i in range(n):
        inside += kept.near[i] * d[i]
    return max(0.0, kept.itself[0] - inside)


@fragment
def take_in(x: Array, y: float, squared: float, p: ProjectronNumbers, memory: ProjectronState) -> None:
    """Store a row, given its squared distance from the span, or add its projection. Shapes: x f8[d]."""
    kept = memory.expansion
    n, itself = kept.used[0], kept.itself[0]
    apart = math.sqrt(squared) > p.eta and DEPENDENT * itself < squared < math.inf
    if apart and n < kept.coefficient.shape[0]:
        grow(n, squared, memory)
        put(x, y, n, kept)
        if n + 1 == kept.coefficient.shape[0]:
            invert(p, memory)
    else:
        project(y, memory)


@fragment
def project(step: float, memory: ProjectronState) -> None:
    """Add step d to the coefficients, or nothing if one of them would not be finite."""
    kept, d = memory.expansion, memory.made_of
    overflows = False
    for i in range(kept.used[0]):
        moved = kept.coefficient[i] + step * d[i]
        overflows |= moved - moved != 0.0
    if overflows:
        kept.skipped[0] += 1
        return
    for i in range(kept.used[0]):
        kept.coefficient[i] += step * d[i]


@fragment
def grow(n: int, squared: float, memory: ProjectronState) -> None:
    """Extend the inverse by the row in slot n: [[K^-1 + d d' / D, -d / D], [-d' / D, 1 / D]] with D = `squared`."""
    d, inverted = memory.made_of, memory.inverse
    for i in range(n):
        row = inverted[i]
        for j in range(n):
            row[j] += d[i] * d[j] / squared
        inverted[i, n] = inverted[n, i] = -d[i] / squared
    inverted[n, n] = 1.0 / squared


@kernel
def invert(p: ProjectronNumbers, memory: ProjectronState) -> None:
    """Recompute the inverse of K + 1e-10 I from the stored rows; free slots are those of the identity."""
    kept, gram = memory.expansion, memory.gram
    n = kept.used[0]
    for i in range(gram.shape[0]):
        for j in range(gram.shape[0]):
            gram[i, j] = 1.0 if i == j else 0.0
    compare_all(p.kernel, kept, gram)
    for i in range(n):
        gram[i, i] += RIDGE
    inverse(gram, memory.factor, memory.inverse)
