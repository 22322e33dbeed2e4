"""NORMA without a margin: a perceptron that forgets."""

from driftway.learners.contract import Learner, Rule
from driftway.learners.linear.norma import Decaying, forgetting


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

    Params = Decaying

    def rule(self) -> Rule:
        return forgetting(self.parameters, self.width, 0.0)
