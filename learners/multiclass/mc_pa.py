"""Multiclass passive-aggressive learning."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.multiclass.passive_aggressive import apart


class MCPA(Learner):
    """Moves two classes just far enough apart to give each row a margin of 1 over the best wrong class.

    Passive while the margin m = S_y - S_s holds, aggressive when it does not; every label is fitted, noisy ones too.
    W_y <- W_y + tau x, W_s <- W_s - tau x with tau = [1 - m]+ / 2 x'x. With two classes it is `pa`.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 7; Huang, Online Learning, "Multi-class Online
    Learning". docs/algorithms/multiclass.md#mc_pa-mc_pa1-mc_pa2. The margin is the one over the best wrong class, as in
    updates with a single constraint.
    """

    name = "mc_pa"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return apart(math.inf, 0.0)
