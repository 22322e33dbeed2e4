"""Passive-aggressive learning of one class with a damped step (PA-II)."""

import math

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.linear.uniclass import UniclassParameters, towards_rows


class PA2Uniclass(Learner):
    """Detects anomalies with a ball that moves part of the way to each row outside it.

    w <- w + tau (x - w) / |x - w| with tau = [|x - w| - eps]+ / (1 + 1 / 2C); s = eps - |x - w|.
    The score is positive inside the ball. The label's value is ignored, but a row without a label is not learned.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes, 8 more if the radius is learned.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 6, PA-II; Huang, Online Learning, "PA for
    other tasks", Uniclass. docs/algorithms/linear.md#pa_uniclass-pa1_uniclass-pa2_uniclass.
    """

    name = "pa2_uniclass"
    tasks = ("binary",)

    class Params(UniclassParameters):
        C: float = number(
            0.1, "Aggressiveness: a step covers the share 2C / (2C + 1) of the distance. Larger = faster.", above=0.0
        )

    def rule(self) -> UpdateRule:
        p = self.parameters
        return towards_rows(math.inf, 1.0 / (2.0 * p.C), p, self.n_features)
