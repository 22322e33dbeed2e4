"""Passive-aggressive learning with a bounded step (PA-I)."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.linear.passive_aggressive import towards_margin


class PA1(Learner):
    """Moves the weights just far enough to give each row a margin of 1, but never by more than C.

    Passive while the margin holds, aggressive when it does not; C limits the damage of a noisy label.
    w <- w + tau y x with tau = min(C, [1 - y s]+ / x'x).

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, figure 1, PA-I; Huang, Online Learning,
    "First-order Methods". docs/algorithms/linear.md#pa-pa1-pa2.
    """

    name = "pa1"
    tasks = ("binary",)

    class Params(Parameters):
        C: float = number(0.1, "Largest step. Larger = faster and more trusting.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return towards_margin(self.parameters.C, 0.0)
