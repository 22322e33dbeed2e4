"""Budgeted online gradient descent that evicts rows of small coefficients."""

import numpy as np

from driftway.learners.contract import Array, Learner, UpdateRule, fragment
from driftway.learners.kernel_methods.bogd import BOGDNumbers, BOGDParameters, BOGDState, decay, descending, make_up
from driftway.learners.kernel_methods.expansion import put
from driftway.learners.numeric.random import seed, uniform


class BOGDPP(Learner):
    """Descends on the regularised hinge loss; a full budget prefers to evict rows of small coefficients.

    As `bogd`, but row r is evicted with p_r = [1 - (B - 1) |a_r| / sum |a_i|]+, normalised to a sum of 1.

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 112 bytes.

    Source
    ------
    Zhao, Wang, Wu, Jin and Hoi, ICML 2012, BOGD++; Huang, Online Learning, "Online kernel learning on a budget".
    docs/algorithms/kernel_methods.md#bogd-bogd_pp. Differs: kernels other than the Gaussian are normalised.
    """

    name = "bogd_pp"
    tasks = ("binary",)

    class Params(BOGDParameters):
        pass

    def rule(self) -> UpdateRule:
        return descending(self.parameters, self.n_features, update)

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


@fragment
def update(x: Array, y: float, s: float, p: BOGDNumbers, memory: BOGDState) -> None:
    """Shrink all coefficients and store the row if its margin is below 1. Shapes: x f8[d]."""
    kept, slot = memory.expansion, decay(p, memory)
    if y * s < 1.0:
        if slot == kept.coefficient.shape[0]:
            weigh(memory)
            slot = draw(memory)
            for i in range(kept.coefficient.shape[0]):
                kept.coefficient[i] = make_up(kept.coefficient[i], memory.share[i], p.largest)
        put(x, p.eta * y, slot, kept)


@fragment
def weigh(memory: BOGDState) -> None:
    """Write the eviction probability of each stored row."""
    a, share = memory.expansion.coefficient, memory.share
    n = a.shape[0]
    total, sum_of_shares = 0.0, 0.0
    for i in range(n):
        total += abs(a[i])
    for i in range(n):
        share[i] = max(0.0, 1.0 - (n - 1) * abs(a[i]) / total) if total > 0.0 else 0.0
        sum_of_shares += share[i]
    for i in range(n):
        share[i] = share[i] / sum_of_shares if sum_of_shares > 0.0 else 1.0 / n


@fragment
def draw(memory: BOGDState) -> int:
    """Draw one of the rows with these probabilities."""
    share = memory.share
    u, sum_so_far, last = uniform(memory.generator), 0.0, 0
    for i in range(share.shape[0]):
        sum_so_far += share[i]
        if share[i] > 0.0:
            last = i
            if u < sum_so_far:
                return last
    return last
