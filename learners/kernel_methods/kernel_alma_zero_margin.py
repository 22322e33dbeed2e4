"""ALMA with a kernel and without a margin."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.kernel_methods.kernel_alma import KernelALMAParameters, within_ball


class KernelALMAZeroMargin(Learner):
    """Stores the rows that it gets wrong and keeps the function in a ball.

    f = sum of a_i k(z_i, .). A row with y f(x) <= 0 is stored with a = alpha y, in place of the oldest one once the
    budget is full; then f <- f / max(1, |f| / B).

    Cost
    ----
    O(B d) per row, and B times that after every 10 B stored rows; 8 B (d + 2) + 88 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), sections 3 and 5 with rho = 0.
    docs/algorithms/kernel_methods.md#kernel_alma-kernel_alma_zero_margin. Differs: the budget.
    """

    name = "kernel_alma_zero_margin"
    tasks = ("binary",)

    class Params(KernelALMAParameters):
        pass

    def rule(self) -> UpdateRule:
        return within_ball(self.parameters, self.n_features, 0.0)
