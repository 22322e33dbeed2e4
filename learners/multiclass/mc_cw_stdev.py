"""Multiclass confidence-weighted learning, exact standard-deviation version (CW-Stdev)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.multiclass.covariance import fill_classes, separate
from driftway.learners.second_order.confidence import DEVIATION, deviations
from driftway.learners.second_order.covariance import CovarianceParameters


class MCCWStdev(Learner):
    """`cw_stdev` of several classes: tells a row from its best wrong class with probability eta.

    As `mc_cw`, with the constraint (mu_y - mu_s).x >= phi sqrt(v) itself instead of its linear form. Steps are larger,
    and noisy labels hurt more.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < phi sqrt(v) gives

    - alpha = (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi), psi = 1 + phi^2 / 2, xi = 1 + phi^2,
    - sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2,
    - mu_y += alpha k_y, mu_s -= alpha k_s, and both Sigma^-1 += (alpha phi / sqrt(u)) x x'.

    Cost
    ----
    Full: O(K d + d^2) per labelled row, and O(K d) with drift; 8 K d^2 + 8 K d + 8 bytes. Diagonal: O(K d) per row,
    16 K d + 8 bytes.

    Source
    ------
    Crammer, Dredze and Kulesza, EMNLP 2009, top-1 updates; scalars as `cw_stdev`.
    docs/algorithms/multiclass.md#mc_cw-mc_cw_stdev-mc_arow-mc_nherd-mc_scw1-mc_scw2. Differs: no covariance between
    classes, drift q and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and
    #full-and-diagonal-covariance.
    """

    name = "mc_cw_stdev"
    tasks = ("binary", "multiclass")

    class Params(CovarianceParameters):
        eta: float = number(0.7, "Probability with which the class of a row must beat its rival.", above=0.5, below=1.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return separate(DEVIATION, p, self.width, phi=deviations(p.eta))

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)
