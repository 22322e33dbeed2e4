"""One judgement of many experts: logistic regression on what they say, learned as fast as its covariance allows.

Each expert is heard twice. As it is, its score adds to the others' like evidence; squashed, it is a vote that counts
about the same however sure it is, which is what labels with noise want. Weights are shared by all classes, and a label
says that its class is ahead of its rival: with two classes that is logistic regression, in the extended Kalman filter
of `second_order`, with hardly any drift.
"""

from typing import NamedTuple

from driftway.learners.auto.second_order import Noise, observe
from driftway.learners.contract import Array, field, fragment, kernel_without_refcounts, scratch
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.numeric.symmetric import downdate
from driftway.learners.numeric.vectors import axpy

FIRST = 0.03
"""Variance of a weight at the start, and above which it gains none."""
NOISE = Noise(1e-6, FIRST, 0.01)
TRUST = 0.5
"""Length of the weights at the start, which are all the same."""
SUREST = 8.0
"""How far behind the best a class counts at most."""
FADING = 0.999
"""What a row leaves of the experts' shares before."""


class MixingState(NamedTuple):
    """Memory of the mixture; the second E of its 2 E inputs are the first ones squashed."""

    weight: Array = field("f8[M]", "weights of the inputs")
    P: Array = field("f8[M, M]", "their covariance; bitwise symmetric")
    share: Array = field("f8[E]", "how much of the lead each expert has made up, in a fading mean")
    raw: Array = scratch("f8[E, K]", "what the experts say of each class")
    input: Array = scratch("f8[M, K]", "the same as it is mixed")
    lead: Array = scratch("f8[M]", "inputs of the row's class less those of its rival")
    k: Array = scratch("f8[M]", "P lead")


@kernel_without_refcounts
def mix(mixing: MixingState, S: Array) -> None:
    """Make inputs of what experts say, and write the weighted sum of each class. Shapes: S f8[K]."""
    E, K = mixing.raw.shape
    for c in range(K):
        S[c] = 0.0
    for e in range(E):
        said, evidence, squashed = mixing.raw[e], mixing.input[e], mixing.input[E + e]
        top = 0
        for c in range(1, K):
            if said[c] > said[top]:
                top = c
        second = said[best_wrong(said, top)]
        for c in range(K):
            evidence[c] = max(said[c] - said[top], -SUREST)
            ahead = 2.0 * (said[c] - (second if c == top else said[top]))
            squashed[c] = ahead / (1.0 + abs(ahead))
            S[c] += mixing.weight[e] * evidence[c] + mixing.weight[E + e] * squashed[c]


@kernel_without_refcounts
def update_mixing(mixing: MixingState, S: Array, y: int) -> None:
    """Learn that class y was ahead of its rival. Shapes: S f8[K], as `mix` wrote it."""
    lead, k, r = mixing.lead, mixing.k, best_wrong(S, y)
    for i in range(lead.shape[0]):
        lead[i] = mixing.input[i, y] - mixing.input[i, r]
    update_weights(mixing)
    share, gain = observe(mixing.P, lead, k, S[y] - S[r], NOISE)
    axpy(mixing.weight, k, gain)
    downdate(mixing.P, k, share, 1.0)


@kernel_without_refcounts
def update_weights(mixing: MixingState) -> None:
    """Note how much of the row's lead each expert made up, whichever way it spoke; all together 1."""
    share, E, total = mixing.share, mixing.share.shape[0], 0.0
    for e in range(E):
        total += prediction_of(mixing, e)
    if total > 0.0:
        for e in range(E):
            share[e] = FADING * share[e] + (1.0 - FADING) * prediction_of(mixing, e) / total


@fragment
def prediction_of(mixing: MixingState, e: int) -> float:
    """What expert e added to the row's lead, without its sign."""
    E = mixing.share.shape[0]
    return abs(mixing.weight[e] * mixing.lead[e] + mixing.weight[E + e] * mixing.lead[E + e])
