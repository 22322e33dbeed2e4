"""Multiclass confidence-weighted learning, variance version (CW)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.multiclass.covariance import fill_classes, separate
from driftway.learners.second_order.confidence import VARIANCE, deviations
from driftway.learners.second_order.covariance import CovarianceParameters


class MCCW(Learner):
    """`cw` of several classes: the nearest Gaussians that tell a row from its best wrong class.

    Requires (mu_y - mu_s).x >= phi v, where v is the variance of the row under both classes. Every label is trusted
    fully, so noisy labels hurt; the soft forms `mc_scw1` and `mc_scw2` tolerate them.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < phi v gives

    - alpha = (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v))) / (4 phi v), phi = Phi^-1(eta),
    - mu_y += alpha k_y, mu_s -= alpha k_s, and both Sigma^-1 += 2 alpha phi x x'.

    Cost
    ----
    Full: O(K d + d^2) per labelled row, and O(K d) with drift; 8 K d^2 + 8 K d + 8 bytes. Diagonal: O(K d) per row,
    16 K d + 8 bytes.

    Source
    ------
    Crammer, Dredze and Kulesza, EMNLP 2009, top-1 updates; scalars as `cw`.
    docs/algorithms/multiclass.md#mc_cw-mc_cw_stdev-mc_arow-mc_nherd-mc_scw1-mc_scw2. Differs: no covariance between
    classes, drift q and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and
    #full-and-diagonal-covariance.
    """

    name = "mc_cw"
    tasks = ("binary", "multiclass")

    class Params(CovarianceParameters):
        eta: float = number(0.7, "Probability with which the class of a row must beat its rival.", above=0.5, below=1.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return separate(VARIANCE, p, self.width, phi=deviations(p.eta))

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)
