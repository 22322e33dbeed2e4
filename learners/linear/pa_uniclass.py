"""Passive-aggressive learning of one class (PA)."""

from __future__ import annotations

import math

from learners.contract import Learner, Parameters, Rule
from learners.linear.uniclass import largest_radius, radius, towards_rows


class PAUniclass(Learner):
    """Tells rows like those before from anomalies: a ball that moves just far enough to hold each row.

    w <- w + tau (x - w) / |x - w| with tau = [|x - w| - eps]+; s = eps - |x - w|.
    The score is positive inside. Labels are not looked at, but a row without one is not learned.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes, 8 more where the radius is learned.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 6; Huang, Online Learning, "PA for
    other tasks", Uniclass. ALGORITHMS.md 3.
    """

    name = "pa_uniclass"
    tasks = ("binary",)

    class Params(Parameters):
        eps: float | str = radius()
        eps_max: float | str = largest_radius()

    def rule(self) -> Rule:
        return towards_rows(math.inf, 0.0, self.parameters, self.n_features)
