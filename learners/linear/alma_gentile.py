"""ALMA as Gentile published it: step and margin shrink with every correction."""

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
from driftway.learners.engine.number_or_keyword import AUTO, positive_or
from driftway.learners.linear.p_norm import exponent, exponent_for, norm_of, renew
from driftway.learners.numeric.vectors import axpy_guarded, dots, multiply


class ALMAGentile(Learner):
    """Approximates the largest margin without being told how large it is: no step size to tune.

    With x^ = x / |x|_p and k the number of the next correction: if y w'x^ <= (1 - a) B sqrt((p - 1) / k),
    theta <- theta + C / sqrt((p - 1) k) y x^, then theta <- theta / max(1, |theta|_p). s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). Steps shrink for ever; prefer `alma` under drift.

    Cost
    ----
    O(d) per row, plus d powers for each row and 2 d more for each row learned unless p = 2; 8 d + 16 bytes.

    Source
    ------
    Gentile, JMLR 2, 2001, ALMA_p(a; B, C); named in Kivinen, Smola and Williamson 2002, section 3.
    docs/algorithms/linear.md#alma_gentile. Differs: the dual vector is kept, not the weights.
    """

    name = "alma_gentile"
    tasks = ("binary",)

    class Params(Parameters):
        a: float = number(
            0.9,
            "Accuracy: the margin reached is at least 1 - a of the largest; 1 = learn from mistakes only.",
            above=0.0,
            at_most=1.0,
        )
        B: float | str = positive_or(
            AUTO,
            text="Size of the margin asked for; `auto` = sqrt(8) / a, which with C = sqrt(2) has the proven bound.",
        )
        C: float = number(math.sqrt(2.0), "Size of the steps.", above=0.0)
        p: float | str = exponent()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        a = self.parameters
        B = math.sqrt(8.0) / a.a if a.B == AUTO else a.B
        given = ALMAGentileNumbers(exponent_for(a.p, self.width), 1.0 - a.a, B, a.C)
        return UpdateRule(score, learn, given, ALMAGentileState, uses_weight=True, begin=renew)


class ALMAGentileNumbers(NamedTuple):
    """Parameters of `alma_gentile`."""

    exponent: float
    """p of the norm."""
    slack: float
    """1 - a."""
    B: float
    C: float


class ALMAGentileState(NamedTuple):
    """State of `alma_gentile`."""

    theta: Array = field("f8[d]", "dual weights, d with the intercept, |theta|_p <= 1")
    k: Counts = field("i8[1]", "number of the next correction", start=1)
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite, zero rows among them")
    weight: Array = scratch("f8[d]", "the image of theta; not used for p = 2, where it is theta itself")
    squared: Array = scratch("f8[1]", "x'x")


@fragment
def score(x: Array, a: ALMAGentileNumbers, memory: ALMAGentileState) -> float:
    """The score w'x; x'x is computed in the same pass. Shapes: x f8[d]."""
    if a.exponent == 2.0:
        s, memory.squared[0] = dots(memory.theta, x, x)
    else:
        s, memory.squared[0] = dots(memory.weight, x, x)
    return s


@fragment
def learn(x: Array, y: float, omega: float, s: float, a: ALMAGentileNumbers, memory: ALMAGentileState) -> None:
    """Add the normalised row if its margin is below the k-th threshold, then scale theta back to norm 1 at most.

    Shapes: x f8[d]. docs/algorithms/linear.md#alma_gentile.
    """
    squared = memory.squared[0]
    size = math.sqrt(squared) if a.exponent == 2.0 and 1e-280 < squared < math.inf else norm_of(x, a.exponent)
    root = math.sqrt((a.exponent - 1.0) * memory.k[0])
    margin = a.B * (a.exponent - 1.0) / root  # gamma_k
    if not (math.isfinite(s) and 0.0 < size < math.inf):
        memory.skipped[0] += 1
        return
    if y * s > a.slack * margin * size:
        return
    if not axpy_guarded(memory.theta, x, y * a.C / (root * size) * omega):
        memory.skipped[0] += 1
        return
    norm = norm_of(memory.theta, a.exponent)
    if norm > 1.0:
        multiply(memory.theta, 1.0 / norm)
    renew(a, memory)
    memory.k[0] += 1
