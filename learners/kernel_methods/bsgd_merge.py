"""Budgeted stochastic gradient descent: over the budget, two stored rows merge into one between them."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    number,
    part,
)
from driftway.learners.kernel_methods.bandwidth import first_gamma, gamma, gamma_of, width
from driftway.learners.kernel_methods.expansion import Kernel, KernelExpansion, drop, put, shrink, support_vector
from driftway.learners.kernel_methods.rule import expanding
from driftway.learners.numeric.elementary.exponential import exp

STEPS = 20
"""Steps of the golden section search, which find h to 7e-5."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
EQUAL = 1e-12
"""Relative differences below this count as ties, so that rounding does not decide among rows of equal weight."""
AS_LIGHT = 1e-9
"""The same for coefficients."""


class BSGDMerge(Learner):
    """Descends on the regularised hinge loss with a Gaussian kernel; over the budget it merges two stored rows.

    s = sum of a_i k(z_i, x); at row t, eta_t = min(1 / (lam t), eta_max), a <- (1 - eta_t lam) a, and a row with
    y s < 1 is stored with a = eta_t y. Over the budget the row p of least |a| and a row q of the same sign are
    merged into z = h z_p + (1 - h) z_q; the coefficient, h and q are those that lose least.

    Cost
    ----
    O(B d) per row, O(B (d + 20)) more for each merge; 8 (B + 1) (d + 2) + 88 bytes.

    Source
    ------
    Wang, Crammer and Vucetic, JMLR 13, 2012, merging; Huang, Online Learning, "SV merging".
    docs/algorithms/kernel_methods.md#bsgd_merge. Differs: eta_max, without which the first rows weigh most.
    """

    name = "bsgd_merge"
    tasks = ("binary",)

    class Params(Parameters):
        lam: float = number(1e-3, "Regularisation, which also sets the step.", above=0.0)
        eta_max: float = number(
            10.0, "Largest step; eta_max lam < 1 is not required: no step exceeds 1 / lam.", above=0.0
        )
        gamma: float = gamma()
        width: str = width("median")
        budget: int = integer(100, "Largest number of stored rows.", at_least=2, at_most=5000)

    def rule(self) -> UpdateRule:
        p = self.parameters
        kernel = Kernel(True, 1, 0.0, False, *first_gamma(p, self.n_features))
        return expanding(update, BSGDMergeNumbers(kernel, p.lam, p.eta_max), BSGDMergeState, p.budget, more=1)


class BSGDMergeNumbers(NamedTuple):
    """Parameters of `bsgd_merge`."""

    kernel: Kernel
    lam: float
    eta_max: float


class BSGDMergeState(NamedTuple):
    """State of `bsgd_merge`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels, with a slot more than the budget")
    learned: Counts = field("i8[1]", "t, labelled rows so far")


@fragment
def update(x: Array, y: float, s: float, p: BSGDMergeNumbers, memory: BSGDMergeState) -> None:
    """Shrink all coefficients and store the row if its margin is below 1. Shapes: x f8[d]."""
    kept = memory.expansion
    memory.learned[0] += 1
    eta = min(1.0 / (p.lam * memory.learned[0]), p.eta_max)
    if eta * p.lam < 1.0:
        shrink(1.0 - eta * p.lam, kept)
    else:
        kept.used[0] = 0
    if y * s < 1.0:
        put(x, eta * y / kept.scale[0], kept.used[0], kept)
        if kept.used[0] == kept.coefficient.shape[0]:
            merge(p, kept)


@fragment
def merge(p: BSGDMergeNumbers, kept: KernelExpansion) -> None:
    """Merge the lightest row with the row of its sign that loses least; if there is none, drop it."""
    a, n = kept.coefficient, kept.used[0]
    light = 0
    for i in range(1, n):
        if abs(a[i]) < abs(a[light]) * (1.0 - AS_LIGHT):
            light = i
    support_vector(light, p.kernel, kept)
    partner, least, best_h, merged = -1, math.inf, 0.0, 0.0
    for i in range(n):
        if i != light and a[i] * a[light] > 0.0:
            squared = 0.0
            for j in range(kept.row.shape[0]):
                squared += (kept.row[j] - kept.column[j, i]) * (kept.row[j] - kept.column[j, i])
            exponent = -gamma_of(p.kernel.gamma, kept.gamma) * squared
            h = best_place(abs(a[light]), abs(a[i]), exponent)
            weight = weight_at(h, abs(a[light]), abs(a[i]), exponent)
            both = a[light] * a[light] + a[i] * a[i]
            loss = both + 2.0 * a[light] * a[i] * kept.across[i] - weight * weight
            if partner < 0 or loss < least - EQUAL * both:
                partner, least, best_h, merged = i, loss, h, weight
    if partner < 0:
        drop(light, kept)
        return
    lower, upper = min(light, partner), max(light, partner)
    merged = math.copysign(merged, a[light])
    for j in range(kept.row.shape[0]):
        kept.column[j, lower] = best_h * kept.row[j] + (1.0 - best_h) * kept.column[j, partner]
    a[lower] = merged
    drop(upper, kept)


@fragment
def weight_at(h: float, light: float, heavy: float, exponent: float) -> float:
    """The weight of the merged row z = h z_p + (1 - h) z_q; `exponent` is ln k(z_p, z_q)."""
    return light * exp((1.0 - h) * (1.0 - h) * exponent) + heavy * exp(h * h * exponent)


@fragment
def best_place(light: float, heavy: float, exponent: float) -> float:
    """The h in [0, 1] of largest weight, by golden section; the lower one on ties."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        first, second = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        one, other = weight_at(first, light, heavy, exponent), weight_at(second, light, heavy, exponent)
        if one >= other * (1.0 - EQUAL):
            high = second
        else:
            low = first
    return 0.5 * (low + high)
