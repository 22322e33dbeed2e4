"""NORMA with a kernel and without a margin."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.kernel_methods.kernel_norma import KernelNORMAParameters, forgetting


class KernelNORMAZeroMargin(Learner):
    """Stores the rows that it gets wrong and forgets the old ones at a steady rate.

    s = sum of a_i k(z_i, x). At every row a <- (1 - alpha lam) a; one with y s <= 0 is stored with a = alpha y, in
    place of the oldest one once the budget is full.

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 80 bytes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), sections 3 and 5 with rho = 0.
    docs/algorithms/kernel_methods.md#kernel_norma-kernel_norma_zero_margin. Differs: the budget.
    """

    name = "kernel_norma_zero_margin"
    tasks = ("binary",)

    class Params(KernelNORMAParameters):
        pass

    def rule(self) -> UpdateRule:
        return forgetting(self.parameters, self.n_features, 0.0)
