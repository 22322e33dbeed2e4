"""One-pass AUC optimisation (OPAUC)."""

from __future__ import annotations

from typing import NamedTuple

from learners.contract import Array, Counts, Learner, Parameters, Rule, flag, fragment, number
from learners.ranking.class_means import centred_score
from learners.ranking.pairwise_square import DIAGONAL, FULL, learn_pairs, pairwise_fields
from learners.second_order.covariance import covariance, is_full
from learners.vectors import step_along


class OPAUC(Learner):
    """Ranks rows of class 1 above those of class 0, keeping mean and covariance of each class instead of rows.

    For few positives among many negatives, where it matters which rows come first rather than where the line is drawn.
    Each row steps down the gradient of its square loss against all rows of the other class so far; nothing is learned
    before both classes have been seen. s = w.x - w.(c_0 + c_1) / 2, the class means drawing the line.

    Cost
    ----
    Full: O(d^2) per row, 16 d^2 + 24 d + 24 bytes. Diagonal: O(d) per row, 40 d + 24 bytes.

    Source
    ------
    Gao, Jin, Zhu and Zhou, ICML 2013, algorithm 1. ALGORITHMS.md 14. Differs: safe_step, the line between the classes,
    and a diagonal form in place of random projections.
    """

    name = "opauc"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(0.001, "Step size.", above=0.0)
        lam: float = number(0.01, "Shrinks the weights, unit of a squared feature.", at_least=0.0)
        safe_step: bool = flag(True, "Shorten a step to 1 / (lam + |x - c|^2 + tr S); without it large rows oscillate.")
        cov: str = covariance()

    def rule(self) -> Rule:
        p, d = self.parameters, self.width
        learn = learn_full if is_full(p.cov, d) else learn_diagonal
        fields = pairwise_fields(p.cov, self.width)
        return Rule(centred_score, learn, Descent(p.eta, p.lam, p.safe_step), Spread, fields, {"e": (d,), "g": (d,)})


class Descent(NamedTuple):
    """Parameters of `opauc`."""

    eta: float
    lam: float
    safe: bool


class Spread(NamedTuple):
    """Memory of `opauc`. Class 0 comes first."""

    weight: Array
    """f8[d]: zero until both classes were seen."""
    classes: Counts
    """i8[2]: rows counted of class 0 and of class 1."""
    mean: Array
    """f8[2, d]: c, per class."""
    scatter: Array
    """f8[2, d, d]: sum of squared deviations from it, bitwise symmetric; f8[2, d] in the diagonal form."""
    skipped: Counts
    """i8[1]: labelled rows whose statistics or step would have overflowed."""
    e: Array
    """f8[d], scratch: the row as seen from the mean of the other class."""
    g: Array
    """f8[d], scratch: the gradient."""


@fragment
def step(curvature: float, p: Descent, memory: Spread) -> bool:
    """By eta or, if it is to be safe, not beyond the bottom of the loss; nothing if a weight would overflow."""
    return step_along(memory.weight, memory.g, -min(p.eta, 1.0 / curvature) if p.safe else -p.eta)


learn_full, learn_diagonal = learn_pairs(FULL, step), learn_pairs(DIAGONAL, step)
