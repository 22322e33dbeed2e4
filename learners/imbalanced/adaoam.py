"""Adaptive online AUC maximisation (AdaOAM)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment, number, scratch
from driftway.learners.imbalanced.class_means import centred_score
from driftway.learners.imbalanced.pairwise_square import DIAGONAL, FULL, learn_pairs
from driftway.learners.second_order.covariance import covariance, form_of, is_full

DAMPING = 1e-8
"""Added to the root of the squared gradients, so that a weight without any has a step of 0, not 0 / 0."""


class AdaOAM(Learner):
    """Ranks as `opauc` does, with a step size per weight that shrinks with its accumulated gradients.

    Prefer it to `opauc` if features differ in frequency or scale. Each row steps down the gradient g of its square loss
    against all rows of the other class so far, w_j -= eta g_j / sqrt(sum of g_j^2 so far); nothing is learned before
    both classes have been seen. s = w.x - w.(c_0 + c_1) / 2, with the boundary half way between the class means.

    Cost
    ----
    Full: O(d^2) per row, 16 d^2 + 32 d + 24 bytes. Diagonal: O(d) per row, 48 d + 24 bytes.

    Source
    ------
    Ding, Zhao, Hoi and Ong, AAAI 2015, algorithm 1. docs/algorithms/imbalanced.md#adaoam. Differs: the boundary between
    the classes, and the diagonal form.
    """

    name = "adaoam"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(0.1, "Step size: how far a weight moves with its first gradient.", above=0.0)
        lam: float = number(0.01, "Shrinks the weights, unit of a squared feature.", at_least=0.0)
        cov: str = covariance()

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.width
        learn = learn_full if is_full(p.cov, d) else learn_diagonal
        return UpdateRule(centred_score, learn, p.numbers(), AdaOAMState, form_of(p.cov, d))


class AdaOAMState(NamedTuple):
    """State of `adaoam`. Class 0 comes first."""

    weight: Array = field("f8[d]", "zero until both classes were seen")
    classes: Counts = field("i8[2]", "rows counted of class 0 and of class 1")
    mean: Array = field("f8[2, d]", "c, per class")
    scatter: Array = field("f8[2, form]", "sum of squared deviations from it, bitwise symmetric or the diagonal only")
    skipped: Counts = field("i8[1]", "labelled rows whose statistics or step would have overflowed")
    gradient2: Array = field("f8[d]", "sum of squared gradients")
    e: Array = scratch("f8[d]", "the row as seen from the mean of the other class, then the weights after the step")
    g: Array = scratch("f8[d]", "the gradient")


@fragment
def step(_curvature: float, p: AdaOAM.Params, memory: AdaOAMState) -> bool:
    """Step against g with a size per weight unless a number would overflow; return whether it was done."""
    weight, gradient2, g, moved = memory.weight, memory.gradient2, memory.g, memory.e
    overflows = False
    for j in range(g.shape[0]):
        grown = gradient2[j] + g[j] * g[j]
        moved[j] = weight[j] - p.eta * g[j] / (math.sqrt(grown) + DAMPING)
        overflows |= (grown - grown != 0.0) | (moved[j] - moved[j] != 0.0)
    if overflows:
        return False
    for j in range(g.shape[0]):
        gradient2[j] += g[j] * g[j]
        weight[j] = moved[j]
    return True


learn_full, learn_diagonal = learn_pairs(FULL, step), learn_pairs(DIAGONAL, step)
