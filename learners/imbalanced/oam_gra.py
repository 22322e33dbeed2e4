"""Online AUC maximisation by gradient (OAMgra)."""

import numpy as np

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, number
from driftway.learners.imbalanced.class_means import centred_score, join_class
from driftway.learners.imbalanced.reservoir import PairwiseParameters, ReservoirState, offer, pair_weight
from driftway.learners.numeric.random import seed
from driftway.learners.numeric.vectors import axpy_guarded


class OAMGra(Learner):
    """Ranks rows of class 1 above those of class 0 by one gradient step against a sample of the other class.

    For few positives among many negatives. All sampled rows that the row does not beat by a margin of 1 contribute to
    one step; `oam_seq` takes a step per pair. Nothing is learned before both classes have been seen.

    w <- w + C c_t / B y times the sum of x - x' over the sampled x' of the other class with y w.(x - x') <= 1.
    s = w.x - w.(c_0 + c_1) / 2, with the boundary half way between the class means.

    Cost
    ----
    O(B d) per row; 16 B d + 24 d + 56 bytes.

    Source
    ------
    Zhao, Hoi, Jin and Yang, ICML 2011, OAMgra with reservoir sampling. docs/algorithms/imbalanced.md#oam_seq-oam_gra.
    Differs: C is shared among the pairs of a row, c_t = 1 by default, and the boundary between the classes.
    """

    name = "oam_gra"
    tasks = ("binary",)

    class Params(PairwiseParameters):
        C: float = number(0.1, "Step size if every pair contributes. Larger = faster and more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(centred_score, learn, p.numbers(), ReservoirState, {"B": p.buffer})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


@fragment
def learn(x: Array, y: float, _omega: float, _s: float, p: OAMGra.Params, memory: ReservoirState) -> None:
    """Take one step from all sampled rows of the other class, then offer the row to the sample of its own class.

    Shapes: x f8[d]. docs/algorithms/imbalanced.md#oam_seq-oam_gra. All pairs are tested with the same weights.
    """
    weight, sample, pull = memory.weight, memory.sample, memory.pull
    d, size = x.shape[0], sample.shape[1]
    own = 1 if y > 0.0 else 0
    other = 1 - own
    if not join_class(x, own, memory):
        memory.skipped[0] += 1
        return
    seen = memory.classes[other]
    for j in range(d):
        pull[j] = 0.0
    for i in range(min(seen, size)):
        z = sample[other, i]
        margin = 0.0
        for j in range(d):
            margin += weight[j] * (x[j] - z[j])
        if not y * margin > 1.0:
            for j in range(d):
                pull[j] += x[j] - z[j]
    if not axpy_guarded(weight, pull, pair_weight(p, size, seen) * y):
        memory.skipped[0] += 1
    offer(x, memory.classes[own], sample[own], memory.generator)
