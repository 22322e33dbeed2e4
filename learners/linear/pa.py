"""Passive-aggressive learning (PA)."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.linear.passive_aggressive import towards_margin


class PA(Learner):
    """Moves the weights just far enough to give each row a margin of 1.

    Passive while the margin holds, aggressive when it does not: every noisy label is fitted exactly, and a tiny row
    moves the weights far. `pa1` and `pa2` bound the step. w <- w + tau y x with tau = [1 - y s]+ / x'x.

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, figure 1, PA; Huang, Online Learning,
    "First-order Methods". docs/algorithms/linear.md#pa-pa1-pa2.
    """

    name = "pa"
    tasks = ("binary",)

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return towards_margin(math.inf, 0.0)
