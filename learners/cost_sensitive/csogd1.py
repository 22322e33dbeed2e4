"""Cost-sensitive online gradient descent, with a moved margin (CSOGD-I)."""

from __future__ import annotations

from dataclasses import dataclass

from learners.cost_sensitive.imbalance import OBJECTIVES, prices
from learners.cost_sensitive.weighted_hinge import weighted_hinge
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields


class CSOGD1(Learner):
    """Gradient descent that asks a larger margin of the class whose mistakes weigh more.

    Prefer `csogd2` where one class is rare: here such a class moves its margin to rho and then teaches no more than
    the other.

    With rho_t = rho for a row of class 1 and 1 for one of class 0, w <- w + eta y x if y s < rho_t.
    Objective ``sum``: rho = eta_p T_n / (eta_n T_p), with the counts T of both classes, this row's among them.
    Objective ``cost``: rho = c_p / c_n.

    Parameters
    ----------
    eta : float
        Step size, eta > 0. Default 0.1.
    objective : str
        ``sum``: maximise eta_p sensitivity + eta_n specificity. ``cost``: minimise the cost of mistakes.
        Default ``sum``.
    eta_p : float
        Weight of the sensitivity, eta_p > 0; for ``sum``. Default 0.5.
    eta_n : float
        Weight of the specificity, eta_n > 0; only the ratio of both matters. Default 0.5.
    c_p : float
        Cost of a missed row of class 1, c_p > 0; for ``cost``. Default 0.95.
    c_n : float
        Cost of a false alarm, c_n > 0; only the ratio of both matters. Default 0.05.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    classes : i8[2]     labelled rows of class 0 and of class 1, plus 1
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 8 d + 24 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Wang, Zhao and Hoi, ICDM 2012, CSOGD-I; Huang, Online Learning, "Applications". ALGORITHMS.md 14.
    Differs: the classes are counted as they come, from 1, because their shares are not known beforehand.
    """

    name = "csogd1"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(0.1, above=0.0)
        objective: str = choice("sum", OBJECTIVES)
        eta_p: float = number(0.5, above=0.0)
        eta_n: float = number(0.5, above=0.0)
        c_p: float = number(0.95, above=0.0)
        c_n: float = number(0.05, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "classes": ("i8", (2,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["classes"][:] = 1

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        weighted_hinge(rows, y, score, False, p.eta, *prices(p), s["weight"], s["classes"], s["skipped"])
