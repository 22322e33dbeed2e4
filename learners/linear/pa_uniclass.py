"""Passive-aggressive learning of one class (PA)."""

import math

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.linear.uniclass import UniclassParameters, towards_rows


class PAUniclass(Learner):
    """Detects anomalies with a ball that moves just far enough to contain each row.

    w <- w + tau (x - w) / |x - w| with tau = [|x - w| - eps]+; s = eps - |x - w|.
    The score is positive inside the ball. The label's value is ignored, but a row without a label is not learned.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes, 8 more if the radius is learned.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 6; Huang, Online Learning, "PA for
    other tasks", Uniclass. docs/algorithms/linear.md#pa_uniclass-pa1_uniclass-pa2_uniclass.
    """

    name = "pa_uniclass"
    tasks = ("binary",)

    Params = UniclassParameters

    def rule(self) -> UpdateRule:
        return towards_rows(math.inf, 0.0, self.parameters, self.n_features)
