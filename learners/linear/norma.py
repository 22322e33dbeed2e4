"""NORMA: large margins for a moving target."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    check_decay,
    field,
    fragment,
    intercept,
    number,
    scratch,
)
from driftway.learners.linear.p_norm import exponent, exponent_for, image_product, renew
from driftway.learners.numeric.vectors import axpy_guarded, multiply

SMALLEST_SCALE = 1e-100
"""Below this, `scale` is multiplied into theta; neither the factor nor its reciprocal gets near the float64 limits."""


class NORMAParameters(Parameters):
    """Parameters shared by `norma` and `norma_zero_margin`."""

    alpha: float = number(0.1, "Step size.", above=0.0)
    lam: float = number(
        0.01, "Decay, 0 <= lam < 1/alpha: theta loses its share alpha lam at every labelled row.", at_least=0.0
    )
    p: float | str = exponent()
    intercept: bool = intercept()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_decay(self, "alpha")


class NORMA(Learner):
    """Learns rows of small margin and forgets the old ones at a steady rate.

    theta <- (1 - alpha lam) theta + alpha sigma y x with sigma = 1 if y s <= rho, else 0; s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). The intercept decays too.

    Cost
    ----
    O(d) per row, plus 2 d powers for each row learned unless p = 2; 8 d + 16 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3, equation 2. docs/algorithms/linear.md#norma-norma_zero_margin.
    """

    name = "norma"
    tasks = ("binary",)

    class Params(NORMAParameters):
        rho: float = number(1.0, "Margin up to which a row is learned, in units of the score.", at_least=0.0)

    def rule(self) -> UpdateRule:
        return forgetting(self.parameters, self.width, self.parameters.rho)


class NORMANumbers(NamedTuple):
    """Parameters of `norma` and `norma_zero_margin`."""

    exponent: float
    """p of the norm."""
    alpha: float
    rho: float
    """Margin up to which a row is learned."""
    keep: float
    """1 - alpha lam, the factor by which a row shrinks theta."""


class NORMAState(NamedTuple):
    """State of `norma`. The dual vector is scale * theta, so that shrinking costs O(1)."""

    theta: Array = field("f8[d]", "dual weights divided by scale, d with the intercept")
    scale: Array = field("f8[1]", "factor of theta", start=1.0)
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    weight: Array = scratch("f8[d]", "the image of theta; not used for p = 2, where it is theta itself")


def forgetting(a: Any, width: int, rho: float) -> UpdateRule:
    """The rule of a learner with `NORMAParameters` that learns rows up to the margin rho."""
    given = NORMANumbers(exponent_for(a.p, width), a.alpha, rho, 1.0 - a.alpha * a.lam)
    return UpdateRule(score, learn, given, NORMAState, uses_weight=True, begin=renew)


@fragment
def score(x: Array, a: NORMANumbers, memory: NORMAState) -> float:
    """The score w'x. Shapes: x f8[d]."""
    return memory.scale[0] * image_product(x, a, memory)


@fragment
def learn(x: Array, y: float, omega: float, s: float, a: NORMANumbers, memory: NORMAState) -> None:
    """Shrink theta by `keep` and add alpha y x if the margin is at most rho.

    Shapes: x f8[d]. KSW equation 2.
    """
    finite = math.isfinite(s)
    if y * s <= a.rho or not finite:
        step = a.alpha / (memory.scale[0] * a.keep)  # divided by keep, since theta is shrunk only afterwards
        if not (finite and axpy_guarded(memory.theta, x, y * step * omega)):
            memory.skipped[0] += 1
            return
        renew(a, memory)
    if a.keep < 1.0:
        memory.scale[0] *= a.keep
        if memory.scale[0] < SMALLEST_SCALE:
            multiply(memory.theta, memory.scale[0])
            memory.scale[0] = 1.0
            renew(a, memory)
