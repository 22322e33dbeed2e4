"""Particles that search for a gap between the classes, also with rows without a label."""

import math
from typing import Any

from driftway.learners.bayesian.particle_filter import (
    ParticleFilterParameters,
    ParticleFilterState,
    move,
    scatter_first,
)
from driftway.learners.contract import Array, Learner, UpdateRule, fragment, integer, number
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.vectors import dot


class OSSLGap(Learner):
    """A swarm of guesses of the weights, trusted for the labels they explain and the rows they keep away from.

    A boundary should run where rows are sparse: a row whose label never arrived takes a share kappa of the weight of
    each guess within whose margin it lies, |w_i.x| < 1 (null category). For streams with few labels and separate
    classes; if these overlap, kappa pulls the boundary to wrong places, and with 0 it is a particle filter that trusts
    labels with probability 1 - e. Experimental: it is hardly ever better than with kappa = 0.

    With v = the guesses' weights, softmax of their log-likelihoods, the class is 1 with probability p = sum of
    v_i L(w_i.x), and s = ln(p / (1 - p)); L(m) is e up to m = -1, 1 - e from m = 1 on, and linear between. After a
    label each log-likelihood gains ln L(y w_i.x), after a row without one ln(1 - kappa) if |w_i.x| < 1; then guesses
    are resampled and walk as those of `particle_filter`.

    Cost
    ----
    O(N d) per row, plus d normal numbers per guess for each row learned; 8 N (d + 1) + 40 bytes.

    Source
    ------
    Goldberg, Zhu, Furger and Xu, OASIS: Online Active Semi-Supervised Learning, AAAI 2011, simplified.
    docs/algorithms/other_tasks.md#ossl_gap. Differs: a row without a label is one whose wait for a label has timed out
    (`--label-wait`), not a row of a third class; it is learned then, and other rows without a label are only predicted.
    No labels are requested.
    """

    name = "ossl_gap"
    tasks = ("binary",)
    link = "logistic"

    class Params(ParticleFilterParameters):
        particles: int = integer(500, "N, number of particles.", at_least=1)
        kappa: float = number(0.1, "Weight that a row without a label takes from nearby rows.", at_least=0.0, below=1.0)
        e: float = number(0.05, "Share of labels that are assumed to be wrong.", above=0.0, below=0.5)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(
            score, learn, p.numbers(), ParticleFilterState, {"N": p.particles}, learn_unlabelled=learn_unlabelled
        )

    def initialise(self) -> None:
        scatter_first(self.parameters, self.state)


@fragment
def likelihood(m: float, e: float) -> float:
    """L, the likelihood of class 1 for a guess whose score is m."""
    return e + (1.0 - 2.0 * e) * 0.5 * (min(max(m, -1.0), 1.0) + 1.0)


@fragment
def score(x: Array, p: OSSLGap.Params, memory: ParticleFilterState) -> float:
    """The weighted vote of all guesses; NaN if the score of one is not finite. Shapes: x f8[d]."""
    margin, finite, zeros, ones = memory.margin, True, 0.0, 0.0
    for i in range(margin.shape[0]):
        margin[i] = dot(memory.particle[i], x)
        finite &= math.isfinite(margin[i])
        trust, likely = exp(memory.log_likelihood[i]), likelihood(margin[i], p.e)
        ones += trust * likely
        zeros += trust * (1.0 - likely)
    return log(ones / zeros) if finite else math.nan


@fragment
def learn(_x: Array, y: float, _omega: float, s: float, p: OSSLGap.Params, memory: ParticleFilterState) -> None:
    """Reweight the guesses by the label, from the margins left by `score`, and move them.

    See docs/algorithms/other_tasks.md#ossl_gap.
    """
    if not math.isfinite(s):
        memory.skipped[0] += 1
        return
    for i in range(memory.margin.shape[0]):
        memory.log_likelihood[i] += log(likelihood(y * memory.margin[i], p.e))
    move(memory.particle, memory.log_likelihood, p.q, memory.generator, memory.drawn)


@fragment
def learn_unlabelled(_x: Array, s: float, p: Any, memory: ParticleFilterState) -> None:
    """Lower the weight of guesses close to the row, and move all. docs/algorithms/other_tasks.md#ossl_gap."""
    if not math.isfinite(s):
        memory.skipped[0] += 1
        return
    loss = log(1.0 - p.kappa)
    for i in range(memory.margin.shape[0]):
        if abs(memory.margin[i]) < 1.0:
            memory.log_likelihood[i] += loss
    move(memory.particle, memory.log_likelihood, p.q, memory.generator, memory.drawn)
