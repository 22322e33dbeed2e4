"""Passive-aggressive regression with a softened step (PA-II)."""

import math

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.linear.passive_aggressive import towards_target


class PA2Regressor(Learner):
    """Moves the weights towards a score within eps of each target, less far the smaller C.

    Passive inside the tube |y - s| <= eps. w <- w + sign(y - s) tau x with tau = [|y - s| - eps]+ / (x'x + 1 / 2C).

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 5, PA-II; Huang, Online Learning,
    "PA for other tasks". docs/algorithms/linear.md#pa_regressor-pa1_regressor-pa2_regressor.
    """

    name = "pa2_regressor"
    tasks = ("regression",)

    class Params(Parameters):
        eps: float = number(0.1, "Half width of the tube, in units of the target.", at_least=0.0)
        C: float = number(1.0, "Penalty of a squared loss. Larger = faster and more trusting.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return towards_target(math.inf, 0.5 / self.parameters.C, self.parameters.eps)
