"""NORMA without a margin: a perceptron that forgets."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.linear.norma import NORMAParameters, forgetting


class NORMAZeroMargin(Learner):
    """Learns the rows that it gets wrong and forgets the old ones at a steady rate.

    theta <- (1 - alpha lam) theta + alpha sigma y x with sigma = 1 if y s <= 0, else 0; s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). The intercept decays too.

    Cost
    ----
    O(d) per row, plus 2 d powers for each row learned unless p = 2; 8 d + 16 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3, equation 2 with rho = 0.
    docs/algorithms/linear.md#norma-norma_zero_margin.
    """

    name = "norma_zero_margin"
    tasks = ("binary",)

    Params = NORMAParameters

    def rule(self) -> UpdateRule:
        return forgetting(self.parameters, self.width, 0.0)
