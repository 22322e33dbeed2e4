"""Follow the regularised leader in proximal form, with a learning rate per coordinate (FTRL-Proximal)."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    flag,
    fragment,
    number,
    scratch,
)
from driftway.learners.linear.gradient_descent import LOGISTIC, slope
from driftway.learners.numeric.vectors import dot
from driftway.learners.sparse.thresholding import soft_threshold


class FTRLProximal(Learner):
    """Sparse logistic regression with a step per weight that shrinks with the gradients it has seen.

    For wide rows of rare features: frequent ones settle early, rare ones still learn fast. Rates never increase.
    The score is the log-odds of class 1.

    - w_j = -sign(z_j) [|z_j| - l1]+ / ((beta + sqrt(n_j)) / alpha + l2),
    - g_j = (sigma(s) - [y = 1]) x_j, z_j += g_j - (sqrt(n_j + g_j^2) - sqrt(n_j)) / alpha w_j, n_j += g_j^2.

    Cost
    ----
    O(d) per row; 16 d + 8 bytes.

    Source
    ------
    McMahan et al., KDD 2013, Algorithm 1; Huang, Online Learning, "Per-coordinate FTRL-Proximal", whose remark that
    large gradients get large rates contradicts the formula. docs/algorithms/sparse.md#ftrl_proximal.
    """

    name = "ftrl_proximal"
    tasks = ("binary",)
    link = "logistic"

    class Params(Parameters):
        alpha: float = number(0.1, "Scale of the rates alpha / (beta + sqrt(n_j)). Larger = faster.", above=0.0)
        beta: float = number(1.0, "Damps the first steps, unit of a gradient.", at_least=0.0)
        l1: float = number(
            0.001, "Weight of the L1 penalty, against the sum of gradients. Larger = fewer weights.", at_least=0.0
        )
        l2: float = number(0.001, "Weight of the penalty |w|^2 / 2.", at_least=0.0)
        intercept: bool = flag(True, "Append a constant 1 to every row; l1 does not apply to its weight.")

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, self.parameters.numbers(), FTRLProximalState, uses_weight=True)


class FTRLProximalState(NamedTuple):
    """State of `ftrl_proximal`."""

    z: Array = field("f8[d]", "sum of gradients less that of the rates' changes times weight, d with the intercept")
    n: Array = field("f8[d]", "sum of squared gradients")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    weight: Array = scratch("f8[d]", "the weights that z and n stand for")
    moved: Array = scratch("f8[d]", "the next z")


@fragment
def score(x: Array, p: FTRLProximal.Params, memory: FTRLProximalState) -> float:
    """The score w'x with the weights that follow from z and n. Shapes: x f8[d]."""
    z, n, weight = memory.z, memory.n, memory.weight
    penalised = x.shape[0] - p.intercept  # l1 does not apply to the intercept
    for j in range(penalised):
        weight[j] = proximal(z[j], n[j], p.alpha, p.beta, p.l1, p.l2)
    for j in range(penalised, x.shape[0]):
        weight[j] = proximal(z[j], n[j], p.alpha, p.beta, 0.0, p.l2)
    return dot(weight, x)


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: FTRLProximal.Params, memory: FTRLProximalState) -> None:
    """Add the row's gradient to z and n; a row that would overflow changes nothing.

    Shapes: x f8[d]. docs/algorithms/sparse.md#ftrl_proximal.
    """
    z, n, weight, moved = memory.z, memory.n, memory.weight, memory.moved
    slope_of_score = slope(LOGISTIC, s, y, 0.0) * omega
    overflows = not math.isfinite(s)
    for j in range(x.shape[0]):
        g = slope_of_score * x[j]
        squared = g * g
        # Computed as printed, sqrt(n + g^2) - sqrt(n) loses all digits once n is large.
        roots = p.alpha * (math.sqrt(n[j] + squared) + math.sqrt(n[j]))
        sigma = squared / roots if squared > 0.0 else 0.0
        moved[j] = z[j] + g - sigma * weight[j]
        grown = n[j] + squared
        overflows |= (moved[j] - moved[j] != 0.0) | (grown - grown != 0.0)  # inf - inf and nan - nan are nan
    if overflows:
        memory.skipped[0] += 1
        return
    for j in range(x.shape[0]):
        g = slope_of_score * x[j]
        z[j] = moved[j]
        n[j] += g * g


@fragment
def proximal(z: float, n: float, alpha: float, beta: float, l1: float, l2: float) -> float:
    """The weight w that minimises z w + l1 |w| + ((beta + sqrt(n)) / alpha + l2) w^2 / 2; 0 if it has no curvature."""
    bend = (beta + math.sqrt(n)) / alpha + l2
    return soft_threshold(-z, l1) / bend if bend > 0.0 else 0.0
