"""Multiclass soft confidence-weighted learning (SCW-I)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.multiclass.covariance import fill_classes, separate
from driftway.learners.second_order.confidence import SOFT, deviations
from driftway.learners.second_order.covariance import CovarianceParameters


class MCSCW1(Learner):
    """`scw1` for several classes: as `mc_cw_stdev`, but a step that would be too large is cut at C.

    No step is larger than C, so a noisy label moves the means by a bounded amount.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < phi sqrt(v) gives

    - alpha = min(C, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi)), psi = 1 + phi^2 / 2, xi = 1 + phi^2,
    - sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2,
    - mu_y += alpha k_y, mu_s -= alpha k_s, and both Sigma^-1 += (alpha phi / sqrt(u)) x x'.

    Cost
    ----
    Full: O(K d + d^2) per labelled row, and O(K d) with drift; 8 K d^2 + 8 K d + 8 bytes. Diagonal: O(K d) per row,
    16 K d + 8 bytes.

    Source
    ------
    Wang, Zhao and Hoi, ICML 2012, proposition 1, with the top-1 updates of Crammer, Dredze and Kulesza, EMNLP 2009.
    docs/algorithms/multiclass.md#mc_cw-mc_cw_stdev-mc_arow-mc_nherd-mc_scw1-mc_scw2. Differs: no covariance between
    classes, drift q and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and
    #full-and-diagonal-covariance.
    """

    name = "mc_scw1"
    tasks = ("binary", "multiclass")

    class Params(CovarianceParameters):
        eta: float = number(
            0.75, "Probability with which the class of a row must beat its rival.", above=0.5, below=1.0
        )
        C: float = number(1.0, "Penalty of the loss and largest alpha. Larger = more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return separate(SOFT, p, self.width, phi=deviations(p.eta), C=p.C)

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)
