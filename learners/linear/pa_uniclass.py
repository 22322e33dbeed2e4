"""Passive-aggressive learning of one class (PA)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.number_or_word import AUTO, positive_or
from learners.linear.uniclass import LEARNED, fields_of, passive_aggressive_uniclass, radius_of
from learners.parameters import Parameters
from learners.state import Fields


class PAUniclass(Learner):
    """Tells rows like those before from anomalies: a ball that moves just far enough to hold each row.

    w <- w + tau (x - w) / |x - w| with tau = [|x - w| - eps]+; s = eps - |x - w|.
    The score is positive inside. Labels are not looked at, but a row without one is not learned.

    Parameters
    ----------
    eps : float
        Radius, eps > 0, in units of the features; ``auto`` = sqrt(d), the usual length of a standardised row;
        ``learned``: it starts at 0 and grows. Default ``auto``.
    eps_max : float
        What a learned radius stays below, eps_max > 0; ``auto`` = 2 sqrt(d). Default ``auto``.

    State
    -----
    centre : f8[d]      centre of the ball; f8[d + 1] where the radius is learned: sqrt(eps_max^2 - centre[d]^2)
    learned : i8[1]     labelled rows so far; the first becomes the centre
    skipped : i8[1]     labelled rows whose distance was not finite

    Cost
    ----
    O(d) per row; 8 d + 16 bytes, 8 more where the radius is learned.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 2006, section 6; Huang, Online Learning, "PA for
    other tasks", Uniclass. ALGORITHMS.md 3.
    """

    name = "pa_uniclass"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eps: float | str = positive_or(AUTO, LEARNED)
        eps_max: float | str = positive_or(AUTO)

    def fields(self) -> Fields:
        return fields_of(self.parameters.eps, self.n_features)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        radius = radius_of(p.eps, p.eps_max, self.n_features)
        passive_aggressive_uniclass(rows, y, score, radius, math.inf, 0.0, s["centre"], s["learned"], s["skipped"])
