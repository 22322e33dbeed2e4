"""One-pass AUC optimisation (OPAUC)."""

from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    flag,
    fragment,
    number,
    scratch,
)
from driftway.learners.imbalanced.class_means import centred_score
from driftway.learners.imbalanced.pairwise_square import DIAGONAL, FULL, learn_pairs
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.second_order.covariance import covariance, form_of, is_full


class OPAUC(Learner):
    """Ranks rows of class 1 above those of class 0, keeping mean and covariance of each class instead of rows.

    For few positives among many negatives, where the ranking matters more than the decision boundary. Each row steps
    down the gradient of its square loss against all rows of the other class so far; nothing is learned before both
    classes have been seen. s = w.x - w.(c_0 + c_1) / 2, with the boundary half way between the class means.

    Cost
    ----
    Full: O(d^2) per row, 16 d^2 + 24 d + 24 bytes. Diagonal: O(d) per row, 40 d + 24 bytes.

    Source
    ------
    Gao, Jin, Zhu and Zhou, ICML 2013, algorithm 1. docs/algorithms/imbalanced.md#opauc. Differs: safe_step, the
    boundary between the classes, and a diagonal form in place of random projections.
    """

    name = "opauc"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(0.001, "Step size.", above=0.0)
        lam: float = number(0.01, "Shrinks the weights, unit of a squared feature.", at_least=0.0)
        safe_step: bool = flag(True, "Shorten a step to 1 / (lam + |x - c|^2 + tr S); without it large rows oscillate.")
        cov: str = covariance()

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.width
        learn = learn_full if is_full(p.cov, d) else learn_diagonal
        return UpdateRule(centred_score, learn, p.numbers(), OPAUCState, form_of(p.cov, d))


class OPAUCState(NamedTuple):
    """State of `opauc`. Class 0 comes first."""

    weight: Array = field("f8[d]", "zero until both classes were seen")
    classes: Counts = field("i8[2]", "rows counted of class 0 and of class 1")
    mean: Array = field("f8[2, d]", "c, per class")
    scatter: Array = field("f8[2, form]", "sum of squared deviations from it, bitwise symmetric or the diagonal only")
    skipped: Counts = field("i8[1]", "labelled rows whose statistics or step would have overflowed")
    e: Array = scratch("f8[d]", "the row as seen from the mean of the other class")
    g: Array = scratch("f8[d]", "the gradient")


@fragment
def step(curvature: float, p: OPAUC.Params, memory: OPAUCState) -> bool:
    """Step by eta, limited to the minimum of the loss if `safe_step`; return False if a weight would overflow."""
    return axpy_guarded(memory.weight, memory.g, -min(p.eta, 1.0 / curvature) if p.safe_step else -p.eta)


learn_full, learn_diagonal = learn_pairs(FULL, step), learn_pairs(DIAGONAL, step)
