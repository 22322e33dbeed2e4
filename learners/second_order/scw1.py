"""Soft confidence-weighted learning (SCW-I)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.second_order.confidence import SOFT, confidence_rule, probability
from driftway.learners.second_order.covariance import CovarianceParameters, fill


class SCW1(Learner):
    """Soft confidence-weighted: as `cw_stdev`, but a step that would be too large is cut at C.

    Minimises KL(N(mu, Sigma) || last) + C loss with loss = [phi sqrt(x'Sigma x) - y mu.x]_+ at every row, so a noisy
    label moves the weights by a bounded multiple of C.

    With phi = Phi^-1(eta), k = Sigma x, v = x.k, m = y mu.x, psi = 1 + phi^2/2, xi = 1 + phi^2, a row with
    m < phi sqrt(v) gives

    - alpha = min(C, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi)),
    - sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2, the row's deviation afterwards,
    - mu += alpha y k and Sigma^-1 += (alpha phi / sqrt(u)) x x'.

    The diagonal form uses the same alpha.

    Cost
    ----
    Full: O(d^2) per labelled row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Wang, Zhao and Hoi, ICML 2012, proposition 1; Huang, Online Learning, "Algorithm 1 SCW". Differs: roots without
    cancellation, drift q and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and
    #full-and-diagonal-covariance.
    """

    name = "scw1"
    tasks = ("binary",)

    class Params(CovarianceParameters):
        eta: float = probability(0.75)
        C: float = number(1.0, "Penalty of the loss and largest alpha. Larger = more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        return confidence_rule(SOFT, self.parameters.C, self.parameters, self.width)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)
