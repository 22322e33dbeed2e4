"""Passive-aggressive learning with a softened step (PA-II)."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.linear.passive_aggressive import towards_margin


class PA2(Learner):
    """Moves the weights towards a margin of 1 on each row, less far the smaller C.

    `pa1` truncates long steps, `pa2` shortens all of them: w <- w + tau y x with tau = [1 - y s]+ / (x'x + 1 / 2C).

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, figure 1, PA-II; Huang, Online Learning,
    "First-order Methods". docs/algorithms/linear.md#pa-pa1-pa2.
    """

    name = "pa2"
    tasks = ("binary",)

    class Params(Parameters):
        C: float = number(0.01, "Penalty of a squared loss. Larger = faster and more trusting.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return towards_margin(math.inf, 0.5 / self.parameters.C)
