"""Second-order perceptron (SOP)."""

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
    intercept,
    number,
    scratch,
)
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import dot
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    covariance,
    drift,
    fill,
    form_of,
    is_full,
    narrow_diagonal,
    spread_diagonal,
)


class SOP(Learner):
    """Second-order perceptron: a perceptron on features whitened by the rows that it got wrong.

    Learns only from mistakes, hence at low cost, and needs no step size.

    With A = aI + sum of x x' over mistakes, Sigma = A^-1, vec = sum of y x over mistakes, k = Sigma x, v = x.k:

    - s = vec' (A + x x')^-1 x = (w.x) / (1 + v), where w = Sigma vec,
    - if y s <= 0: Sigma -= k k' / (1 + v) (diagonal: Sigma^-1 += diag(x x')), vec += y x.

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 16 d + 8 bytes. Diagonal: O(d) per row, 24 d + 8 bytes.

    Source
    ------
    Cesa-Bianchi, Conconi and Gentile, SIAM J. Comput. 34, 2005: Sigma changes only on mistakes, as there and unlike
    in some libraries. Differs: drift q and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance
    and #full-and-diagonal-covariance.
    """

    name = "sop"
    tasks = ("binary",)

    class Params(Parameters):
        a: float = number(1.0, "Initial ridge, Sigma = I/a, unit of a squared feature.", above=0.0)
        cov: str = covariance()
        q: float = drift()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.width
        score, learn = (score_full, learn_full) if is_full(p.cov, d) else (score_diagonal, learn_diagonal)
        return UpdateRule(score, learn, SOPNumbers(1.0 / p.a, p.q), SOPState, form_of(p.cov, d))

    def initialise(self) -> None:
        fill(self.state["covariance"], 1.0 / self.parameters.a)


class SOPNumbers(NamedTuple):
    """Parameters of `sop`."""

    start: float
    """Initial variance of every weight."""
    q: float


class SOPState(NamedTuple):
    """State of `sop`."""

    vec: Array = field("f8[d]", "signed sum of the rows that were mistaken, d with the intercept")
    weight: Array = field("f8[d]", "w = Sigma vec, kept up to date")
    covariance: Array = field("f8[form]", "Sigma, [d, d] and bitwise symmetric; [d] in the diagonal form")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    k: Array = scratch("f8[d]", "Sigma x")


@fragment
def score_full(x: Array, _p: SOPNumbers, memory: SOPState) -> float:
    """The score (w.x) / (1 + v); leaves k = Sigma x in memory for `learn_full`. Shapes: x f8[d]."""
    v = matvec(memory.covariance, x, memory.k)
    return dot(memory.weight, x) / (1.0 + max(0.0, v))


@fragment
def score_diagonal(x: Array, _p: SOPNumbers, memory: SOPState) -> float:
    """As `score_full`, but v cannot be rounded below 0. Shapes: x f8[d]."""
    v = spread_diagonal(memory.covariance, x, memory.k)
    return dot(memory.weight, x) / (1.0 + v)


@fragment
def learn_full(x: Array, y: float, _omega: float, s: float, p: SOPNumbers, memory: SOPState) -> None:
    """Add the row to both sums if it was misclassified, keeping weight = covariance vec.

    Shapes: x f8[d]. A row that would overflow changes nothing.
    """
    vec, weight, covariance, k = memory.vec, memory.weight, memory.covariance, memory.k
    if not (math.isfinite(s) and y * s > 0.0):
        v = dot(x, k)
        share = 1.0 / (1.0 + v)
        step = (y - dot(weight, x)) * share  # of the weights, by the Sherman-Morrison formula
        if COLLAPSED < v < math.inf and step_both(weight, k, step, vec, x, y):
            downdate(covariance, k, share, 1.0)
            # Recomputed because steps accumulate rounding errors; if the product overflows, the step is kept.
            if math.isfinite(matvec(covariance, vec, k)):
                for j in range(x.shape[0]):
                    weight[j] = k[j]
        else:
            memory.skipped[0] += 1
    if p.q > 0.0:
        for j in range(x.shape[0]):
            grown = regained(covariance[j, j], p.q, p.start, vec[j], weight[j])
            covariance[j, j] += grown
            weight[j] += grown * vec[j]


@fragment
def learn_diagonal(x: Array, y: float, _omega: float, s: float, p: SOPNumbers, memory: SOPState) -> None:
    """As `learn_full`, keeping only the diagonal of the inverse covariance. Shapes: x f8[d]."""
    vec, weight, variance, k = memory.vec, memory.weight, memory.covariance, memory.k
    if not (math.isfinite(s) and y * s > 0.0):
        v = dot(x, k)
        # The step does not contain the score, so it may be finite when the score is not.
        if math.isfinite(s) and COLLAPSED < v < math.inf and step_both(weight, k, y, vec, x, y):
            narrow_diagonal(variance, x, 1.0)
            for j in range(x.shape[0]):
                weight[j] = variance[j] * vec[j]
        else:
            memory.skipped[0] += 1
    if p.q > 0.0:
        for j in range(x.shape[0]):
            grown = regained(variance[j], p.q, p.start, vec[j], weight[j])
            variance[j] += grown
            weight[j] += grown * vec[j]


@fragment
def step_both(weight: Array, k: Array, step: float, vec: Array, x: Array, label: float) -> bool:
    """Add step * k to `weight` and label * x to `vec` unless either would overflow; return whether they were added.

    Shapes: weight f8[d], k f8[d], vec f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        weighed, summed = weight[j] + step * k[j], vec[j] + label * x[j]
        overflows |= (weighed - weighed != 0.0) | (summed - summed != 0.0)
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * k[j]
        vec[j] += label * x[j]
    return True


@fragment
def regained(variance: float, q: float, start: float, vec: float, weight: float) -> float:
    """What a variance regains by drift: at most q, not beyond `start`, and 0 if the weight would overflow."""
    grown = min(q, max(0.0, start - variance))
    return grown if math.isfinite(weight + grown * vec) else 0.0
