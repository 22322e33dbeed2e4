"""Multiclass ROMMA, the relaxed online maximum margin algorithm."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.multiclass.relaxed_margin import into_half_spaces


class MCROMMA(Learner):
    """Keeps the shortest weights that give the row it got wrong a margin of 1 and all before it no less than they had.

    One half-space, <W, U> >= |W|^2, stands for all earlier rows. On m <= 0, with m the margin over the best wrong class
    and phi the row in its own class and minus the row in the other: W <- c W + e phi, c = (|phi|^2 |W|^2 - mu m) / D, e
    = |W|^2 (mu - m) / D, D = |phi|^2 |W|^2 - m^2. With two classes it is `romma`.

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Source
    ------
    Li and Long, Machine Learning 46, 2002, ROMMA; for several classes docs/algorithms/multiclass.md#mc_romma-mc_aromma.
    Differs: (W, mu) is rescaled together, which changes no prediction; a row parallel to the weights changes only their
    length.
    """

    name = "mc_romma"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return into_half_spaces(aggressive=False)
