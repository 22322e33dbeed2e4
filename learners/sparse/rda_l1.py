"""Regularised dual averaging with an L1 penalty (RDA)."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    choice,
    field,
    flag,
    fragment,
    number,
)
from driftway.learners.linear.gradient_descent import LOSSES, slope
from driftway.learners.linear.weights import product
from driftway.learners.numeric.fading_mean import newest_share
from driftway.learners.sparse.thresholding import soft_threshold


class RDAL1(Learner):
    """Regularised dual averaging: weights that are best for the average of all gradients so far, not for the last.

    Sparser than thresholded steps, because the average gradient of a useless feature tends to zero and the threshold
    does not shrink with the steps. Slow to follow drift unless `decay` is given.

    With G the average of g x, where g = -y / (1 + exp(y s)) or that of the hinge loss,

    - w = argmin G'w + lam |w|_1 + gamma / (2 sqrt(t)) |w|^2, that is
    - w_j = -(sqrt(t) / gamma) sign(G_j) [|G_j| - lam]+.

    Cost
    ----
    O(d) per row; 16 d + 16 bytes.

    Source
    ------
    Xiao, JMLR 11, 2010, Algorithm 1 with the L1 norm and beta_t = gamma sqrt(t); Huang, Online Learning, Algorithm 5.
    docs/algorithms/sparse.md#rda_l1. Differs: `decay`.
    """

    name = "rda_l1"
    tasks = ("binary",)
    link: str | None = "logistic"

    class Params(Parameters):
        gamma: float = number(1.0, "Weight of the squared length. Larger = slower.", above=0.0)
        lam: float = number(0.001, "Weight of the penalty. Larger = fewer weights.", at_least=0.0)
        decay: float = number(
            0.0,
            "Least weight of the newest gradient in the average; a memory of about 1 / decay rows. 1e-3 on streams "
            "that drift; 0, the published algorithm, remembers all rows alike.",
            at_least=0.0,
            at_most=1.0,
        )
        loss: str = choice("logistic", LOSSES[:2], "`logistic` or `hinge`.")
        intercept: bool = flag(True, "Append a constant 1 to every row; its weight is not penalised.")

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = RDAL1Numbers(LOSSES.index(p.loss), p.gamma, p.lam, p.decay, self.n_features)
        return UpdateRule(product, learn, given, RDAL1State, uses_weight=True)

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None


class RDAL1Numbers(NamedTuple):
    """Parameters of `rda_l1`."""

    loss: int
    gamma: float
    lam: float
    decay: float
    penalised: int
    """Index from which on weights are not thresholded."""


class RDAL1State(NamedTuple):
    """State of `rda_l1`."""

    average: Array = field("f8[d]", "G, the average gradient, d with the intercept")
    weight: Array = field("f8[d]", "follows from G and t, kept for scoring")
    learned: Counts = field("i8[1]", "t, labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: RDAL1Numbers, memory: RDAL1State) -> None:
    """Add the gradient to the average, then take the best weights for the average.

    Shapes: x f8[d]. docs/algorithms/sparse.md#rda_l1. A row that would overflow counts for t only.
    """
    memory.learned[0] += 1
    share = newest_share(memory.learned[0], p.decay)
    scale = math.sqrt(1.0 / share) / p.gamma
    g = slope(p.loss, s, y, 0.0) * omega
    if not (math.isfinite(s) and average_in(memory.average, x, 1.0 - share, share * g, scale)):
        memory.skipped[0] += 1
        return
    for j in range(p.penalised):
        memory.weight[j] = scale * soft_threshold(-memory.average[j], p.lam)
    for j in range(p.penalised, x.shape[0]):
        memory.weight[j] = -scale * memory.average[j]


@fragment
def average_in(average: Array, x: Array, keep: float, share: float, scale: float) -> bool:
    """Set `average` to keep * average + share * x unless scale times that would overflow; return whether it was set.

    Shapes: average f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        weight = scale * (keep * average[j] + share * x[j])
        overflows |= weight - weight != 0.0  # inf - inf and nan - nan are nan
    if overflows:
        return False
    for j in range(x.shape[0]):
        average[j] = keep * average[j] + share * x[j]
    return True
