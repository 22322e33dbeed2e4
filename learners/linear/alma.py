"""ALMA: large margins within a ball."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Learner, Parameters, UpdateRule, fragment, intercept, number
from driftway.learners.linear.p_norm import PNormState, exponent, exponent_for, image_product, norm_of, renew
from driftway.learners.numeric.vectors import axpy_guarded, multiply


class ALMAParameters(Parameters):
    """Parameters shared by `alma` and `alma_zero_margin`."""

    alpha: float = number(0.1, "Step size.", above=0.0)
    B: float = number(10.0, "Longest dual vector; longer ones are scaled back.", above=0.0)
    p: float | str = exponent()
    intercept: bool = intercept()


class ALMA(Learner):
    """Learns rows of small margin and keeps the weights in a ball, so that the past cannot outweigh the present.

    theta' = theta + alpha y x if y s <= rho; theta <- theta' / max(1, |theta'|_p / B); s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2).

    Cost
    ----
    O(d) per row, plus 2 d powers for each row learned unless p = 2; 8 d + 8 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3: ALMA simplified to fixed alpha and rho.
    docs/algorithms/linear.md#alma-alma_zero_margin.
    """

    name = "alma"
    tasks = ("binary",)

    class Params(ALMAParameters):
        rho: float = number(1.0, "Margin up to which a row is learned, in units of the score.", at_least=0.0)

    def rule(self) -> UpdateRule:
        a = self.parameters
        return adding(ALMANumbers(exponent_for(a.p, self.width), a.alpha, a.rho, a.B))


class ALMANumbers(NamedTuple):
    """Parameters of `alma`, `alma_zero_margin` and `p_norm_perceptron`."""

    exponent: float
    """p of the norm."""
    alpha: float
    rho: float
    """Margin up to which a row is learned."""
    radius: float
    """Largest norm of the dual vector; may be inf."""
    zero_is_mistake: bool = True
    """Whether a score of exactly 0 is a mistake for either label; otherwise it predicts class 1."""


def adding(given: ALMANumbers) -> UpdateRule:
    """The rule of a learner with these parameters."""
    return UpdateRule(image_product, learn, given, PNormState, uses_weight=True, begin=renew)


@fragment
def learn(x: Array, y: float, omega: float, s: float, a: ALMANumbers, memory: PNormState) -> None:
    """Add alpha y x if the margin is at most rho, then scale theta back into the ball |theta|_p <= radius.

    Shapes: x f8[d]. KSW section 3.
    """
    finite = math.isfinite(s)
    wrong = y * s <= a.rho and (a.zero_is_mistake or s != 0.0 or y < 0.0)
    if not wrong and finite:
        return
    if not (finite and axpy_guarded(memory.theta, x, y * a.alpha * omega)):
        memory.skipped[0] += 1
        return
    if a.radius < math.inf:
        norm = norm_of(memory.theta, a.exponent)
        if norm > a.radius:
            multiply(memory.theta, a.radius / norm)
    renew(a, memory)
