"""A sum of kernels, s = scale sum_i a_i k(z_i, x) over stored rows z_i: state and score of every kernel learner.

Rows are stored as columns, so that the kernel values of a row with several of them are computed at once. The score
computes them, and the update reuses them. Distances are summed directly: |x|^2 + |z|^2 - 2 x.z would save one
multiplication but lose every digit between rows that are near each other and far from 0.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Parameters,
    choice,
    field,
    fragment,
    integer,
    kernel,
    number,
    scratch,
)
from driftway.learners.kernel_methods.bandwidth import first_gamma, gamma, gamma_of, width
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.windows.distances import squared_distances

SMALLEST_SCALE = 1e-100
"""Below this, `scale` is multiplied into the coefficients; it and its reciprocal stay far from the float64 limits."""


class KernelParameters(Parameters):
    """Parameters shared by all kernel learners."""

    kernel: str = choice(
        "gaussian",
        ("gaussian", "poly", "linear"),
        "`gaussian` exp(-gamma |x - z|^2), `poly` (x.z + c0)^degree, `linear` x.z + c0.",
    )
    gamma: float = gamma()
    width: str = width()
    degree: int = integer(2, "Degree of the polynomial kernel.", at_least=1, at_most=10)
    c0: float = number(
        1.0, "Constant that the other kernels add to x.z; with 0 nothing is learned from rows of zeros.", at_least=0.0
    )
    budget: int = integer(100, "Largest number of stored rows.", at_least=2, at_most=5000)


class Kernel(NamedTuple):
    """Parameters of a kernel."""

    gaussian: bool
    degree: int
    c0: float
    normalised: bool
    """Whether to use k(x, z) / sqrt(k(x, x) k(z, z)) for k(x, z); makes no difference to Gaussian kernels."""
    gamma: float
    """Given or initial value."""
    by_median: bool
    """Whether gamma follows from the stored rows."""
    by_scores: bool
    """Whether gamma follows from the scores as well."""


class KernelExpansion(NamedTuple):
    """The stored rows z_i, in slots, with their coefficients."""

    column: Array = field("f8[d, B]", "features of the rows")
    coefficient: Array = field("f8[B]", "a_i, with its sign and without the common factor; 0 of a free slot")
    own: Array = field("f8[B]", "k(z, z) of each before it is normalised")
    scale: Array = field("f8[1]", "common factor of the coefficients", start=1.0)
    used: Counts = field("i8[1]", "slots in use", largest="B")
    taken: Counts = field("i8[1]", "rows stored since the start")
    gamma: Array = field("f8[1]", "of the Gaussian kernel, where it has followed from the stored rows; else 0")
    tried: Counts = field("i8[1]", "which power of 4 it is multiplied by", largest="3")
    lead: Array = field("f8[4]", "rows about which each power would have been right more often, lately")
    skipped: Counts = field("i8[1]", "labelled rows whose score or kernel with themselves was not finite, or 0")
    near: Array = scratch("f8[B]", "kernel values of the row with those stored")
    itself: Array = scratch("f8[1]", "k(x, x) before it is normalised")
    right: Array = scratch("f8[4]", "1 for each power that is right about the row, else 0")
    distances: Array = scratch("f8[496]", "squared distances between 32 of them")
    row: Array = scratch("f8[d]", "a stored row")
    across: Array = scratch("f8[B]", "kernel values of it with those stored; of the scored row by the widest")


def kernel_of(parameters: Any, n_features: int, normalised: bool = False) -> Kernel:
    """The kernel that the parameters name."""
    p = parameters
    gaussian = p.kernel == "gaussian"
    degree = p.degree if p.kernel == "poly" else 1
    first, by_median, by_scores = first_gamma(p, n_features)
    return Kernel(gaussian, degree, p.c0, normalised, first, gaussian and by_median, gaussian and by_scores)


@kernel
def kernel_values(x: Array, kernel: Kernel, kept: KernelExpansion, near: Array) -> float:
    """Write k(z, x) of all stored rows into `near`; return k(x, x), not normalised. Shapes: x f8[d], near f8[B]."""
    n, column, gamma = kept.used[0], kept.column, gamma_of(kernel.gamma, kept.gamma)
    squared = 0.0
    for j in range(x.shape[0]):
        squared += x[j] * x[j]
    if kernel.gaussian:
        squared_distances(x, column, n, near)
        for i in range(n):
            near[i] = exp(-gamma * near[i])
        return 1.0 if squared < math.inf else math.inf
    for i in range(n):
        near[i] = kernel.c0
    for j in range(x.shape[0]):
        features, value = column[j], x[j]
        for i in range(n):
            near[i] += features[i] * value
    itself = squared + kernel.c0
    if kernel.degree > 1:
        base_itself = itself
        for i in range(n):
            base = near[i]
            for _ in range(kernel.degree - 1):
                near[i] *= base
        for _ in range(kernel.degree - 1):
            itself *= base_itself
    if kernel.normalised:
        for i in range(n):
            near[i] /= math.sqrt(kept.own[i] * itself)
    return itself


@fragment
def kernel_sum(values: Array, kept: KernelExpansion) -> float:
    """Sum of a_i values_i over the stored rows, without the common factor. Shapes: values f8[B]."""
    total = 0.0
    for i in range(kept.used[0]):
        total += kept.coefficient[i] * values[i]
    return total


@fragment
def score(x: Array, p: Any, memory: Any) -> float:
    """The score; leaves the kernel values in `near`. Shapes: x f8[d]."""
    kept = memory.expansion
    kept.itself[0] = kernel_values(x, p.kernel, kept, kept.near)
    return kept.scale[0] * kernel_sum(kept.near, kept)


@kernel
def support_vector(slot: int, kernel: Kernel, kept: KernelExpansion) -> None:
    """Write the kernel values of the row in a slot with all stored rows into `across`."""
    for j in range(kept.row.shape[0]):
        kept.row[j] = kept.column[j, slot]
    kernel_values(kept.row, kernel, kept, kept.across)


@fragment
def own_kernel(squared: float, kernel: Kernel) -> float:
    """k(z, z), not normalised, of a row of squared length `squared`."""
    if kernel.gaussian:
        return 1.0
    own = 1.0
    for _ in range(kernel.degree):
        own *= squared + kernel.c0
    return own


@fragment
def compare_all(kernel: Kernel, kept: KernelExpansion, gram: Array) -> None:
    """Write the kernel values of all pairs of stored rows. Shapes: gram f8[B, B]."""
    for i in range(kept.used[0]):
        support_vector(i, kernel, kept)
        for j in range(kept.used[0]):
            gram[i, j] = kept.across[j]


@fragment
def compare_next(kernel: Kernel, kept: KernelExpansion, gram: Array) -> None:
    """Write the kernel values of the row just scored into the first free slot. Shapes: gram f8[B, B]."""
    n = kept.used[0]
    for i in range(n):
        gram[n, i] = gram[i, n] = kept.near[i]
    gram[n, n] = norm_of(kernel, kept)


@fragment
def drop_compared(slot: int, kept: KernelExpansion, gram: Array) -> None:
    """As `drop`, and update the kernel values too. Shapes: gram f8[B, B]."""
    last = kept.used[0] - 1
    for i in range(last):
        gram[slot, i] = gram[i, slot] = gram[last, i]
    gram[slot, slot] = gram[last, last]
    drop(slot, kept)


@fragment
def usable(s: float, kept: KernelExpansion) -> bool:
    """Whether the row just scored can be learned: its score and k(x, x) are finite, and k(x, x) is not 0."""
    return math.isfinite(s) and 0.0 < kept.itself[0] < math.inf


@fragment
def norm_of(kernel: Kernel, kept: KernelExpansion) -> float:
    """k(x, x) of the row just scored, normalised if the kernel is."""
    return 1.0 if kernel.normalised else kept.itself[0]


@fragment
def put(x: Array, coefficient: float, slot: int, kept: KernelExpansion) -> None:
    """Store a row in a slot, replacing its content; the first free slot is number `used`. Shapes: x f8[d]."""
    for j in range(x.shape[0]):
        kept.column[j, slot] = x[j]
    kept.coefficient[slot] = coefficient
    kept.own[slot] = kept.itself[0]
    kept.used[0] = max(kept.used[0], slot + 1)
    kept.taken[0] += 1


@fragment
def oldest(kept: KernelExpansion) -> int:
    """The slot of the next row, which is that of the oldest row once the budget is full."""
    return int(kept.taken[0] % kept.coefficient.shape[0])


@fragment
def shrink(keep: float, kept: KernelExpansion) -> None:
    """Multiply all coefficients by 0 < keep <= 1."""
    kept.scale[0] *= keep
    if kept.scale[0] < SMALLEST_SCALE:
        for i in range(kept.used[0]):
            kept.coefficient[i] *= kept.scale[0]
        kept.scale[0] = 1.0


@fragment
def drop(slot: int, kept: KernelExpansion) -> None:
    """Remove a row; the one in the last slot takes its place."""
    last = kept.used[0] - 1
    for j in range(kept.column.shape[0]):
        kept.column[j, slot] = kept.column[j, last]
    kept.coefficient[slot] = kept.coefficient[last]
    kept.own[slot] = kept.own[last]
    kept.coefficient[last] = 0.0
    kept.used[0] = last
