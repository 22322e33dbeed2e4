"""Multiclass adaptive regularisation of weights (AROW)."""

from driftway.learners.contract import Learner, UpdateRule, number
from driftway.learners.multiclass.covariance import REGULARISED, fill_classes, separate
from driftway.learners.second_order.covariance import CovarianceParameters


class MCAROW(Learner):
    """`arow` of several classes: a Gaussian per class that narrows with every row it learns.

    Updates whenever the margin over the best wrong class is below 1, by an amount that grows with the variance of the
    row, so rarely seen features move fast and label noise moves little. The diagonal form is `arowa`'s.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < 1 gives

    - alpha = (1 - m) / (v + r), beta = 1 / (v + r),
    - mu_y += alpha k_y, mu_s -= alpha k_s,
    - both Sigma -= beta k k' (diagonal: Sigma^-1 += diag(x x') / r).

    Cost
    ----
    Full: O(K d + d^2) per labelled row, and O(K d) with drift; 8 K d^2 + 8 K d + 8 bytes. Diagonal: O(K d) per row,
    16 K d + 8 bytes.

    Source
    ------
    Crammer, Dredze and Kulesza, EMNLP 2009, top-1 updates; scalars as `arow`.
    docs/algorithms/multiclass.md#mc_cw-mc_cw_stdev-mc_arow-mc_nherd-mc_scw1-mc_scw2. Differs: no covariance between
    classes, drift q and the diagonal form of docs/algorithms/conventions.md#drift-of-the-covariance and
    #full-and-diagonal-covariance.
    """

    name = "mc_arow"
    tasks = ("binary", "multiclass")

    class Params(CovarianceParameters):
        r: float = number(1.0, "Regularisation, unit of a squared feature. Larger = slower.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return separate(REGULARISED, p, self.width, r=p.r)

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)
