"""Soft confidence-weighted learning with squared loss (SCW-II)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.second_order.confidence import SOFT_SQUARED, confidence_rule, probability
from driftway.learners.second_order.covariance import CovarianceParameters, fill


class SCW2(Learner):
    """Soft confidence-weighted: as `scw1`, with the square of the loss.

    Minimises KL(N(mu, Sigma) || last) + C loss^2 with loss = [phi sqrt(x'Sigma x) - y mu.x]_+ at every row: small
    violations cost less than in `scw1`, large ones more.

    With phi = Phi^-1(eta), k = Sigma x, v = x.k, m = y mu.x, n = v + 1 / (2 C), a row with m < phi sqrt(v) gives

    - gamma = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2)),
    - alpha = (-(2 m n + phi^2 m v) + gamma) / (2 (n^2 + n v phi^2)),
    - sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2, the row's deviation afterwards,
    - mu += alpha y k and Sigma^-1 += (alpha phi / sqrt(u)) x x'.

    The diagonal form uses the same alpha.

    Cost
    ----
    Full: O(d^2) per labelled row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Wang, Zhao and Hoi, ICML 2012, proposition 2 (common code has v * 2 and phi * 2 in place of squares, which changes
    alpha by 5 to 25 %); Huang, Online Learning, "Algorithm 1 SCW". Differs: roots without cancellation, drift q
    and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and #full-and-diagonal-covariance.
    """

    name = "scw2"
    tasks = ("binary",)

    class Params(CovarianceParameters):
        eta: float = probability(0.75)
        C: float = number(1.0, "Penalty of the squared loss. Larger = more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        return confidence_rule(SOFT_SQUARED, self.parameters.C, self.parameters, self.width)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)
