"""NORMA without a margin: a perceptron that forgets."""

from __future__ import annotations

from learners.contract import Learner, ParameterError, Parameters, Rule, intercept, number
from learners.linear.norma import Decay, forgetting
from learners.linear.p_norm import exponent, exponent_for


class NORMAZeroMargin(Learner):
    """Learns the rows that it gets wrong and forgets the old ones at a steady rate.

    theta <- (1 - alpha lam) theta + alpha sigma y x with sigma = 1 if y s <= 0, else 0; s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). The intercept decays too.

    Cost
    ----
    O(d) per row, with 2 d powers for each that is learned unless p = 2; 8 d + 16 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3, equation 2 with rho = 0. ALGORITHMS.md 3.
    """

    name = "norma_zero_margin"
    tasks = ("binary",)

    class Params(Parameters):
        alpha: float = number(0.1, "Step size.", above=0.0)
        lam: float = number(
            0.01, "Decay, 0 <= lam < 1/alpha: theta loses its share alpha lam at every labelled row.", at_least=0.0
        )
        p: float | str = exponent()
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            if not self.alpha * self.lam < 1.0:
                raise ParameterError(f"lam must be < 1/alpha = {1.0 / self.alpha:g}, got {self.lam}")

    def rule(self) -> Rule:
        a = self.parameters
        return forgetting(Decay(exponent_for(a.p, self.width), a.alpha, 0.0, 1.0 - a.alpha * a.lam), self.width)

    def initialise(self) -> None:
        self.state["scale"][0] = 1.0
