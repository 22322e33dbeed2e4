"""Multiclass passive-aggressive learning with a softened step (PA-II)."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.multiclass.passive_aggressive import apart


class MCPA2(Learner):
    """Moves two classes apart towards a margin of 1 on each row, less far the smaller C.

    `mc_pa1` truncates long steps, `mc_pa2` shortens all of them: W_y <- W_y + tau x, W_s <- W_s - tau x with tau = [1 -
    m]+ / (2 x'x + 1 / 2C), m = S_y - S_s the margin over the best wrong class. With two classes it is `pa2` with 2 C.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 7, PA-II; Huang, Online Learning, "Multi-class
    Online Learning". docs/algorithms/multiclass.md#mc_pa-mc_pa1-mc_pa2. The margin is the one over the best wrong
    class, as in updates with a single constraint.
    """

    name = "mc_pa2"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        C: float = number(0.01, "Penalty of a squared loss. Larger = faster and more trusting.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return apart(math.inf, 0.5 / self.parameters.C)
