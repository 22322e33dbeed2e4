"""Passive-aggressive learning of one class with a bounded step (PA-I)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.linear.uniclass import UniclassParameters, towards_rows


class PA1Uniclass(Learner):
    """Detects anomalies with a ball that moves towards each row outside it, by at most C.

    w <- w + tau (x - w) / |x - w| with tau = min(C, [|x - w| - eps]+); s = eps - |x - w|.
    The score is positive inside the ball. The label's value is ignored, but a row without a label is not learned.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes, 8 more if the radius is learned.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 6, PA-I; Huang, Online Learning, "PA for
    other tasks", Uniclass. docs/algorithms/linear.md#pa_uniclass-pa1_uniclass-pa2_uniclass.
    """

    name = "pa1_uniclass"
    tasks = ("binary",)

    class Params(UniclassParameters):
        C: float = number(0.1, "Longest step, in units of the features. Larger = faster and more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return towards_rows(p.C, 0.0, p, self.n_features)
