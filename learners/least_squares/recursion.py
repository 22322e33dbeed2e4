"""The recursion shared by RLS and its forgetting variants: discounted least squares, one row at a time."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, UpdateRule, field, fragment, scratch
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.linear.weights import product
from driftway.learners.numeric.symmetric import clamp_diagonal, downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded


class LeastSquaresNumbers(NamedTuple):
    """Parameters of the recursion."""

    factor: float
    """lambda = 1 - mu."""
    p_max: float
    """Largest diagonal entry of P; inf switches the wind-up guard off."""


class LeastSquares(NamedTuple):
    """State of the recursion."""

    weight: Array = field("f8[d]", "least-squares weights, d with the intercept")
    P: Array = field("f8[d, d]", "inverse of the ridge and the sum of x x', both discounted; bitwise symmetric")
    skipped: Counts = field("i8[1]", "labelled rows whose step was not finite")
    k: Array = scratch("f8[d]", "P x")


def least_squares(given: LeastSquaresNumbers) -> UpdateRule:
    """The rule of a learner with the same factor for all rows."""
    sharing = SharedFields("P", given.factor, adds=True, p_max=given.p_max)
    return UpdateRule(product, learn, given, LeastSquares, uses_weight=True, sharing=sharing)


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: LeastSquaresNumbers, memory: LeastSquares) -> None:
    """Fold the row into the discounted least-squares solution; P stays bitwise symmetric.

    Shapes: x f8[d]. docs/algorithms/least_squares.md#least-squares-with-forgetting (G-DFOP scaling: the printed
    denominator lacks mu). A row that would overflow changes nothing.
    """
    v = matvec(memory.P, x, memory.k)
    if not absorb(v, y - s, omega, p.factor, p.p_max, memory):
        memory.skipped[0] += 1


@fragment
def absorb(v: float, error: float, omega: float, forgetting: float, p_max: float, memory: Any) -> bool:
    """Fold one row into the solution; return False, changing nothing, if a weight would overflow.

    `memory` has weight f8[d], P f8[d, d] and k f8[d] = P x, which is overwritten; v is x.k, `error` the target
    minus the score. A row of weight omega acts like one with sqrt(omega) x and sqrt(omega) y.
    """
    weight, P, k = memory.weight, memory.P, memory.k
    h = forgetting + omega * v  # step 1
    if not (0.0 < h < math.inf and axpy_guarded(weight, k, omega * error / h)):  # step 2
        return False
    downdate(P, k, omega / h, 1.0 / forgetting)  # step 3
    for j in range(weight.shape[0]):  # step 4
        if P[j, j] > p_max:
            clamp_diagonal(P, j, p_max, k)
    return True
