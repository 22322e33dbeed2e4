"""Multiclass passive-aggressive learning with a bounded step (PA-I)."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.multiclass.passive_aggressive import apart


class MCPA1(Learner):
    """Moves two classes just far enough apart to give each row a margin of 1, but neither by more than C.

    Passive while the margin m = S_y - S_s over the best wrong class holds, aggressive when it does not; C limits the
    damage of a noisy label. W_y <- W_y + tau x, W_s <- W_s - tau x with tau = min(C, [1 - m]+ / 2 x'x). With two
    classes it is `pa1` with 2 C.

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 7, PA-I; Huang, Online Learning, "Multi-class
    Online Learning". docs/algorithms/multiclass.md#mc_pa-mc_pa1-mc_pa2. The margin is the one over the best wrong
    class, as in updates with a single constraint.
    """

    name = "mc_pa1"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        C: float = number(0.1, "Largest step. Larger = faster and more trusting.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return apart(self.parameters.C, 0.0)
