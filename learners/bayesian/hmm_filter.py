"""Hidden Markov model of the labels, filtered and learned online."""

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Learner,
    Parameters,
    UpdateRule,
    field,
    flag,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.numeric.elementary.logarithm import log


class HMMFilter(Learner):
    """Predicts the next label from a hidden state inferred from the labels so far; ignores the features.

    A baseline for labels that persist or recur in cycles: a learner that does not beat it has learned nothing from the
    features. Starts with one persistent state per class, and learns both tables by expected counts.

    With A, B the counts NA, NB divided by their row sums and pi = A'p: class c has probability S_c = sum of B_kc pi_k.
    After label c, J_ij = p_i A_ij B_jc / S_c is the probability that the state moved from i to j, and
    p_j <- sum of J_ij over i; NA gains J, NB gains p in column c, and both decay towards their initial values.

    Cost
    ----
    O(M^2 + M K) per row; 8 M (1 + M + K) bytes.

    Source
    ------
    Rabiner, Proc. IEEE 77, 1989, equations 19 and 20 (the forward pass); Huang, Online Learning, state-space table,
    discrete row. The counts, their decay and all defaults are from docs/algorithms/bayesian.md#hmm_filter. Binary score
    ln(S_1 / S_0).
    """

    name = "hmm_filter"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "direct"
    uses_features = False
    revision = 1  # docs/decisions/0090

    class Params(Parameters):
        states: int = integer(0, "M, number of hidden states; 0 = number of classes.", at_least=0)
        stay: float = number(
            8.0,
            "Prior count of staying in a state, in addition to the 1 of every move.",
            at_least=0.0,
            at_most=1000000000000.0,
        )
        own: float = number(
            100.0,
            "Prior count of state i giving class i mod K, in addition to the 1 of every class. With 0 the states never "
            "separate.",
            at_least=0.0,
            at_most=1000000000000.0,
        )
        decay: float = number(0.999, "Factor of the counts per labelled row.", above=0.0, at_most=1.0)
        learn_A: bool = flag(True, "Learn how states follow each other; else `stay` alone determines it.")

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(
            score,
            learn,
            p.numbers(),
            HMMFilterState,
            {"M": p.states or self.n_classes},
            classes=True,
            cached_prediction="f8[M]",
            cache_prediction=cache_belief,
            recall=recall_belief,
        )

    def initialise(self) -> None:
        p, s = self.parameters, self.state
        m = len(s["belief"])
        s["belief"][:] = 1.0 / m
        s["transitions"][:] = 1.0 + p.stay * np.eye(m)
        s["emissions"][:] = 1.0
        s["emissions"][np.arange(m), np.arange(m) % self.n_classes] += p.own


class HMMFilterState(NamedTuple):
    """State of `hmm_filter`. Every count stays >= 1, so no state or class ever has probability 0."""

    belief: Array = field("f8[M]", "p, the probability of each state after the last label")
    transitions: Array = field("f8[M, M]", "counts NA, from row to column")
    emissions: Array = field("f8[M, K]", "counts NB, of classes per state")
    leaving: Array = scratch("f8[M]", "p_i by the sum of row i of NA")
    ahead: Array = scratch("f8[M]", "pi = A'p, the probability of each state one step ahead")
    giving: Array = scratch("f8[M]", "pi_k by the sum of row k of NB; while a row is learned, B_jc / S_c")
    chance: Array = scratch("f8[K]", "the probability of each class")
    S: Array = scratch("f8[K]", "the scores")


@fragment
def score(_x: Array, _parameters: Any, memory: HMMFilterState) -> None:
    """Predict the probabilities of states and classes one step ahead; with two classes S_1 - S_0 is the log-odds."""
    leaving, ahead, giving, chance = memory.leaving, memory.ahead, memory.giving, memory.chance
    m, n_classes = memory.emissions.shape
    for j in range(m):
        ahead[j] = 0.0
    for i in range(m):
        total = 0.0
        for j in range(m):
            total += memory.transitions[i, j]
        leaving[i] = memory.belief[i] / total
        for j in range(m):
            ahead[j] += leaving[i] * memory.transitions[i, j]  # pi = A'p
    for c in range(n_classes):
        chance[c] = 0.0
    for k in range(m):
        total = 0.0
        for c in range(n_classes):
            total += memory.emissions[k, c]
        giving[k] = ahead[k] / total
        for c in range(n_classes):
            chance[c] += giving[k] * memory.emissions[k, c]
    if n_classes == 2:
        memory.S[0], memory.S[1] = 0.0, log(chance[1] / chance[0])
    else:
        for c in range(n_classes):
            memory.S[c] = chance[c]


@fragment
def learn(_x: Array, label: int, _omega: float, _finite: bool, p: HMMFilter.Params, memory: HMMFilterState) -> None:
    """Filter the state by the label and update the counts, using what `score` left in scratch.

    See docs/algorithms/bayesian.md#hmm_filter.
    """
    belief, transitions, emissions, giving = memory.belief, memory.transitions, memory.emissions, memory.giving
    m, n_classes = emissions.shape
    for j in range(m):
        belief[j] = giving[j] * emissions[j, label] / memory.chance[label]
        for c in range(n_classes):
            start = 1.0 + (p.own if c == j % n_classes else 0.0)
            emissions[j, c] = start + p.decay * (emissions[j, c] - start)
        emissions[j, label] += belief[j]
        giving[j] = belief[j] / memory.ahead[j]  # B_jc / S_c
    for i in range(m):
        for j in range(m):
            start = 1.0 + (p.stay if i == j else 0.0)
            joint = memory.leaving[i] * transitions[i, j] * giving[j] if p.learn_A else 0.0
            transitions[i, j] = start + p.decay * (transitions[i, j] - start) + joint


@fragment
def cache_belief(cached_prediction: Array, _p: HMMFilter.Params, memory: HMMFilterState) -> None:
    """Cache the belief that a row was scored with. Shapes: cached_prediction f8[M]."""
    for i in range(cached_prediction.shape[0]):
        cached_prediction[i] = memory.belief[i]


@fragment
def recall_belief(cached_prediction: Array, _p: HMMFilter.Params, memory: HMMFilterState) -> None:
    """Let a late label follow the labels that were known when its row was scored, as the next row's will.

    Shapes: cached_prediction f8[M].
    """
    for i in range(cached_prediction.shape[0]):
        memory.belief[i] = cached_prediction[i]
