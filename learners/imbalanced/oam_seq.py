"""Online AUC maximisation, pair by pair (OAMseq)."""

import math

import numpy as np

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, number
from driftway.learners.imbalanced.class_means import centred_score, join_class
from driftway.learners.imbalanced.reservoir import PairwiseParameters, ReservoirState, offer, pair_weight
from driftway.learners.numeric.random import seed


class OAMSeq(Learner):
    """Ranks rows of class 1 above those of class 0 by comparing each row with a sample of the other class.

    For few positives among many negatives. One passive-aggressive step per pair, each from the weights after the
    previous one; `oam_gra` takes all pairs at once. Nothing is learned before both classes have been seen.

    For each sampled x' of the other class: w <- w + tau y (x - x'),
    tau = min(C c_t / B, [1 - y w.(x - x')]_+ / |x - x'|^2).
    s = w.x - w.(c_0 + c_1) / 2, with the boundary half way between the class means.

    Cost
    ----
    O(B d) per row; 16 B d + 24 d + 56 bytes.

    Source
    ------
    Zhao, Hoi, Jin and Yang, ICML 2011, OAMseq with reservoir sampling. docs/algorithms/imbalanced.md#oam_seq-oam_gra.
    Differs: C is shared among the pairs of a row, c_t = 1 by default, and the boundary between the classes.
    """

    name = "oam_seq"
    tasks = ("binary",)

    class Params(PairwiseParameters):
        C: float = number(0.1, "Largest sum of a row's steps. Larger = faster and more trusting.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(centred_score, learn, p.numbers(), ReservoirState, {"B": p.buffer})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


@fragment
def learn(x: Array, y: float, _omega: float, _s: float, p: OAMSeq.Params, memory: ReservoirState) -> None:
    """Step once per sampled row of the other class in slot order, then offer the row to the sample of its own class.

    Shapes: x f8[d]. docs/algorithms/imbalanced.md#oam_seq-oam_gra.
    """
    weight, sample = memory.weight, memory.sample
    size = sample.shape[1]
    own = 1 if y > 0.0 else 0
    other = 1 - own
    if not join_class(x, own, memory):
        memory.skipped[0] += 1
        return
    seen = memory.classes[other]
    most = pair_weight(p, size, seen)
    refused = False
    for i in range(min(seen, size)):
        z = sample[other, i]
        margin, apart2 = 0.0, 0.0
        for j in range(x.shape[0]):
            apart = x[j] - z[j]
            margin += weight[j] * apart
            apart2 += apart * apart
        loss = 1.0 - y * margin
        if not math.isfinite(loss):
            refused = True
        elif loss > 0.0 and apart2 > 0.0:
            refused |= not step_apart(weight, x, z, min(most, loss / apart2) * y)
    if refused:
        memory.skipped[0] += 1
    offer(x, memory.classes[own], sample[own], memory.generator)


@fragment
def step_apart(weight: Array, x: Array, z: Array, step: float) -> bool:
    """Add step * (x - z) to `weight` unless a coordinate would overflow; return whether it was added.

    Shapes: weight f8[d], x f8[d], z f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        moved = weight[j] + step * (x[j] - z[j])
        overflows |= moved - moved != 0.0
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * (x[j] - z[j])
    return True
