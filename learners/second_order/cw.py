"""Confidence-weighted learning, variance version (CW)."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.second_order.confidence import VARIANCE, confidence_rule, probability
from driftway.learners.second_order.covariance import CovarianceParameters, fill


class CW(Learner):
    """Confidence-weighted: the Gaussian nearest to the last one that gives y mu.x >= phi x'Sigma x.

    Rarely seen features have a large variance and move far, frequent ones hardly move. Every label is trusted fully,
    so noisy labels hurt; the soft forms `scw1` and `scw2` tolerate them.

    With phi = Phi^-1(eta), k = Sigma x, v = x.k, m = y mu.x, a row with m < phi v gives

    - alpha = (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v))) / (4 phi v),
    - mu += alpha y k and Sigma^-1 += 2 alpha phi x x',

    after which the constraint is tight in the full form. The diagonal form uses the same alpha.

    Cost
    ----
    Full: O(d^2) per labelled row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Dredze, Crammer and Pereira, ICML 2008; Huang, Online Learning, "Algorithm 1 Variance Algorithm", eqs 11 and 17.
    Differs: roots without cancellation, drift q and the diagonal form of
    docs/algorithms/conventions.md#drift-of-the-covariance and #full-and-diagonal-covariance.
    """

    name = "cw"
    tasks = ("binary",)

    class Params(CovarianceParameters):
        eta: float = probability(0.7)

    def rule(self) -> UpdateRule:
        return confidence_rule(VARIANCE, 0.0, self.parameters, self.width)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)
