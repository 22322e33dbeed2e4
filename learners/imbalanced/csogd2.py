"""Cost-sensitive online gradient descent, with a steeper loss (CSOGD-II)."""

from driftway.learners.contract import Learner, UpdateRule, intercept, number
from driftway.learners.imbalanced.imbalance import CostSensitiveParameters
from driftway.learners.imbalanced.weighted_hinge import weighted_hinge


class CSOGD2(Learner):
    """Gradient descent that takes larger steps for the class whose mistakes weigh more.

    For rare classes (fraud, faults, illness), where a learner with equal steps would just predict the frequent class
    and nearly always be right.

    With rho_t = rho for a row of class 1 and 1 for one of class 0, w <- w + eta rho_t y x if y s < 1.
    Objective ``sum``: rho = eta_p T_n / (eta_n T_p), with the counts T of both classes, including this row.
    Objective ``cost``: rho = c_p / c_n.

    Cost
    ----
    O(d) per row; 8 d + 24 bytes.

    Source
    ------
    Wang, Zhao and Hoi, ICDM 2012, CSOGD-II; Huang, Online Learning, "Applications".
    docs/algorithms/imbalanced.md#csogd1-csogd2. Differs: classes are counted online, from 1, because their shares are
    not known beforehand.
    """

    name = "csogd2"
    tasks = ("binary",)

    class Params(CostSensitiveParameters):
        eta: float = number(0.01, "Step size.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return weighted_hinge(True, self.parameters)
