"""Improved ellipsoid method for classification (IELLIP)."""

import math
from collections.abc import Callable
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    intercept,
    number,
    scratch,
)
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.linear.weights import product
from driftway.learners.numeric.symmetric import clamp_diagonal, downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import COLLAPSED, covariance, fill, form_of, is_full, spread_diagonal

MOST_WOUND_UP = 1e6
"""Largest variance, as a multiple of `a`, of a direction that no mistake excites. For b < 1 the total inflation is the
product of 1 / (1 - c b^i), 1.16 at the defaults; at b = 1 it would overflow after 700 / c mistakes."""

LEAST_VARIANCE = 1e-12
"""Smallest variance of the diagonal form."""


class IELLIP(Learner):
    """Improved ellipsoid method: the good weights lie in an ellipsoid, and every mistake cuts a piece off it.

    Learns from mistakes only; each cut is smaller than the last, so that noisy labels cannot flatten the
    ellipsoid. Directions that are not cut grow a little instead.

    With k = Sigma x, v = x.k, m = y w.x, a row with m <= 0 gives

    - alpha = (margin - m) / sqrt(v), g = y k / sqrt(v), w += alpha g,
    - full: Sigma <- (Sigma - ct g g') / (1 - ct), diagonal: Sigma_j <- (Sigma_j - ct k_j^2 / v) / (1 - ct),
    - ct <- b ct.

    Cost
    ----
    Full: O(d^2) per mistake, 8 d^2 + 8 d + 16 bytes. Diagonal: O(d) per row, 16 d + 16 bytes.

    Source
    ------
    Yang, Jin and Ye, ICML 2009. ct counts mistakes (library code counts rows, which freezes the ellipsoid at once).
    Differs: diagonal form of docs/algorithms/second_order.md#iellip, and variances are at most 1e6 a.
    """

    name = "iellip"
    tasks = ("binary",)

    class Params(Parameters):
        c: float = number(0.1, "Depth of the first cut.", above=0.0, below=1.0)
        b: float = number(0.3, "Factor of the depth after each mistake.", above=0.0, at_most=1.0)
        margin: float = number(1.0, "Margin that a misclassified row gets.", above=0.0)
        a: float = number(1.0, "Variance of every weight at the start; weights do not depend on it.", above=0.0)
        cov: str = covariance()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        learn = learn_full if is_full(p.cov, self.width) else learn_diagonal
        return UpdateRule(product, learn, p.numbers(), IELLIPState, form_of(p.cov, self.width))

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)
        self.state["ct"][0] = self.parameters.c


class IELLIPState(NamedTuple):
    """State of `iellip`."""

    weight: Array = field("f8[d]", "centre w of the ellipsoid, d with the intercept")
    covariance: Array = field("f8[form]", "its shape Sigma, [d, d] and bitwise symmetric; [d] in the diagonal form")
    ct: Array = field("f8[1]", "depth of the next cut, c b^(mistakes so far)")
    skipped: Counts = field("i8[1]", "mistakes without a finite step, or whose variance is nil")
    k: Array = scratch("f8[d]", "Sigma x")


@fragment
def cut_full(_x: Array, v: float, most: float, memory: IELLIPState) -> None:
    """Sigma <- (Sigma - ct k k' / v) / (1 - ct), with variances of at most `most`. Shapes: x f8[d]."""
    depth = memory.ct[0]
    downdate(memory.covariance, memory.k, depth / v, 1.0 / (1.0 - depth))
    for j in range(memory.weight.shape[0]):
        if memory.covariance[j, j] > most:
            clamp_diagonal(memory.covariance, j, most, memory.k)


@fragment
def cut_diagonal(x: Array, v: float, most: float, memory: IELLIPState) -> None:
    """As `cut_full`, for the diagonal; k_j^2 = variance_j x_j k_j, and its share of v is finite. Shapes: x f8[d]."""
    variance, k, depth = memory.covariance, memory.k, memory.ct[0]
    for j in range(x.shape[0]):
        cut = variance[j] * (1.0 - depth * (x[j] * k[j] / v)) / (1.0 - depth)
        variance[j] = min(most, max(LEAST_VARIANCE, cut))


def learn_by_cutting(
    spread: Callable[[Array, Array, Array], float], cut: Callable[[Array, float, float, IELLIPState], None]
) -> Fragment:
    """The `learn` of a learner whose covariance has this form."""

    @fragment
    def learn(x: Array, y: float, _omega: float, s: float, p: IELLIP.Params, memory: IELLIPState) -> None:
        """Cut off the half of the ellipsoid that misclassifies the row.

        Shapes: x f8[d]. docs/algorithms/second_order.md#iellip, with g substituted, so that the two roots of v cancel.
        """
        if math.isfinite(s) and y * s > 0.0:
            return
        v = spread(memory.covariance, x, memory.k)
        if COLLAPSED < v < math.inf and axpy_guarded(memory.weight, memory.k, (p.margin - y * s) / v * y):
            cut(x, v, MOST_WOUND_UP * p.a, memory)
            memory.ct[0] *= p.b
        else:
            memory.skipped[0] += 1

    return learn


learn_full, learn_diagonal = learn_by_cutting(matvec, cut_full), learn_by_cutting(spread_diagonal, cut_diagonal)
