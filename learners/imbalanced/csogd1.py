"""Cost-sensitive online gradient descent, with a moved margin (CSOGD-I)."""

from driftway.learners.contract import Learner, UpdateRule, intercept, number
from driftway.learners.imbalanced.imbalance import CostSensitiveParameters
from driftway.learners.imbalanced.weighted_hinge import weighted_hinge


class CSOGD1(Learner):
    """Gradient descent that requires a larger margin for the class whose mistakes weigh more.

    Prefer `csogd2` if one class is rare: here the margin of such a class becomes rho, but its steps are no larger
    than those of the other.

    With rho_t = rho for a row of class 1 and 1 for one of class 0, w <- w + eta y x if y s < rho_t.
    Objective ``sum``: rho = eta_p T_n / (eta_n T_p), with the counts T of both classes, including this row.
    Objective ``cost``: rho = c_p / c_n.

    Cost
    ----
    O(d) per row; 8 d + 24 bytes.

    Source
    ------
    Wang, Zhao and Hoi, ICDM 2012, CSOGD-I; Huang, Online Learning, "Applications".
    docs/algorithms/imbalanced.md#csogd1-csogd2. Differs: classes are counted online, from 1, because their shares are
    not known beforehand.
    """

    name = "csogd1"
    tasks = ("binary",)

    class Params(CostSensitiveParameters):
        eta: float = number(0.1, "Step size.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return weighted_hinge(False, self.parameters)
