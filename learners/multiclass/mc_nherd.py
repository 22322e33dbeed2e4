"""Multiclass normal herding (NHERD)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.multiclass.covariance import HERDED, fill_classes, separate
from driftway.learners.second_order.covariance import CovarianceParameters


class MCNHERD(Learner):
    """`nherd` of several classes: moves a cloud of weights per class and keeps the Gaussian that fits it best.

    As `mc_arow`, but the covariances shrink as fast as the clouds contract, about twice as fast.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < 1 gives

    - alpha = (1 - m) / (v + 1/C), beta = (C^2 v + 2 C) / (1 + C v)^2,
    - mu_y += alpha k_y, mu_s -= alpha k_s,
    - both Sigma -= beta k k' (diagonal: Sigma^-1 += (2 C + C^2 v) diag(x x')).

    Cost
    ----
    Full: O(K d + d^2) per labelled row, and O(K d) with drift; 8 K d^2 + 8 K d + 8 bytes. Diagonal: O(K d) per row,
    16 K d + 8 bytes.

    Source
    ------
    Crammer and Lee, NIPS 2010, with the top-1 updates of Crammer, Dredze and Kulesza, EMNLP 2009.
    docs/algorithms/multiclass.md#mc_cw-mc_cw_stdev-mc_arow-mc_nherd-mc_scw1-mc_scw2. Differs: no covariance between
    classes, drift q of docs/algorithms/conventions.md#drift-of-the-covariance.
    """

    name = "mc_nherd"
    tasks = ("binary", "multiclass")

    class Params(CovarianceParameters):
        C: float = number(0.1, "Trust in one row, as 1/r of `mc_arow`. Larger = faster.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return separate(HERDED, p, self.width, C=p.C)

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)
