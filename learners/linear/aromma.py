"""Aggressive ROMMA, the relaxed online maximum margin algorithm."""

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept
from driftway.learners.linear.relaxed_margin import towards_half_spaces


class AROMMA(Learner):
    """Keeps the shortest weights that give each row a margin of 1 and all rows before it no less than they had.

    One half-space, w'u >= |w|^2, stands for all earlier rows. On y s < mu, with mu the margin: w <- c w + e x, c =
    (|x|^2 |w|^2 - mu y s) / D, e = |w|^2 (mu y - s) / D, D = |x|^2 |w|^2 - s^2.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Li and Long, Machine Learning 46, 2002, aggressive ROMMA. docs/algorithms/linear.md#romma-aromma. Differs: (w, mu)
    is rescaled together, which changes no prediction; a row parallel to the weights changes only their length.
    """

    name = "aromma"
    tasks = ("binary",)

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return towards_half_spaces(aggressive=True)
