"""ALMA without a margin: a perceptron within a ball."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.linear.alma import ALMANumbers, ALMAParameters, adding
from driftway.learners.linear.p_norm import exponent_for


class ALMAZeroMargin(Learner):
    """Learns the rows that it gets wrong and keeps the weights in a ball.

    theta' = theta + alpha y x if y s <= 0; theta <- theta' / max(1, |theta'|_p / B); s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2).

    Cost
    ----
    O(d) per row, plus 2 d powers for each row learned unless p = 2; 8 d + 8 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3: ALMA simplified to fixed alpha, with
    rho = 0. docs/algorithms/linear.md#alma-alma_zero_margin.
    """

    name = "alma_zero_margin"
    tasks = ("binary",)

    Params = ALMAParameters

    def rule(self) -> UpdateRule:
        a = self.parameters
        return adding(ALMANumbers(exponent_for(a.p, self.width), a.alpha, 0.0, a.B))
