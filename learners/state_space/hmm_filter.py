"""Hidden Markov model of the labels, filtered and learned as they come."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from learners.elementary.logarithm import log
from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, integer, number
from learners.state import Fields


class HMMFilter(Learner):
    """Expects the next label from a hidden state that the labels so far point to; looks at no feature.

    A baseline for labels that persist or return in a cycle: a learner that does not beat it has learned nothing from
    the features. Starts from one state per class that rarely moves, and learns both tables by expected counts.

    With A, B the counts NA, NB divided by their row sums and pi = A'p: class c is expected with probability
    S_c = sum of B_kc pi_k. After label c, J_ij = p_i A_ij B_jc / S_c is how likely the state went from i to j, and
    p_j <- sum of J_ij over i; NA gains J, NB gains p in column c, and both fade towards their start.

    Parameters
    ----------
    states : int
        M, the hidden states; 0 = as many as classes. Default 0.
    stay : float
        Prior count of staying in a state, stay >= 0, above the 1 of every move. Default 8.0.
    own : float
        Prior count of state i giving class i mod K, own >= 0, above the 1 of every class. From 0 the states never
        separate. Default 100.0.
    decay : float
        Share of what was counted that is kept per labelled row, 0 < decay <= 1. Default 0.999.
    learn_A : bool
        Learn how states follow each other; else only `stay` says. Default true.

    State
    -----
    belief : f8[M]              p, the probability of each state after the last label
    transitions : f8[M, M]      counts NA, from row to column
    emissions : f8[M, K]        counts NB, of classes per state

    Cost
    ----
    O(M^2 + M K) per row; 8 M (1 + M + K) bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a regression task.

    Source
    ------
    Rabiner, Proc. IEEE 77, 1989, equations 19 and 20 (the forward pass); Huang, Online Learning, state-space table,
    discrete row. The counts, their fading and all defaults are of ALGORITHMS.md 6. Binary score ln(S_1 / S_0).
    """

    name = "hmm_filter"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "direct"
    uses_features = False

    @dataclass(frozen=True)
    class Params(Parameters):
        states: int = integer(0, at_least=0)
        stay: float = number(8.0, at_least=0.0, at_most=1e12)
        own: float = number(100.0, at_least=0.0, at_most=1e12)
        decay: float = number(0.999, above=0.0, at_most=1.0)
        learn_A: bool = flag(True)

    def fields(self) -> Fields:
        m = self.parameters.states or self.n_classes
        return {"belief": ("f8", (m,)), "transitions": ("f8", (m, m)), "emissions": ("f8", (m, self.n_classes))}

    def initialise(self) -> None:
        p, s = self.parameters, self.state
        m = len(s["belief"])
        s["belief"][:] = 1.0 / m
        s["transitions"][:] = 1.0 + p.stay * np.eye(m)
        s["emissions"][:] = 1.0
        s["emissions"][np.arange(m), np.arange(m) % self.n_classes] += p.own

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        leaving, ahead, giving = np.empty((3, len(s["belief"])))
        views = s["belief"], s["transitions"], s["emissions"], leaving, ahead, giving, np.empty(self.n_classes)
        hmm_filter(y, score, p.stay, p.own, p.decay, p.learn_A, *views)


@bare_kernel
def hmm_filter(
    y: Array,
    score: Array,
    stay: float,
    own: float,
    decay: float,
    learn_A: bool,
    belief: Array,
    transitions: Array,
    emissions: Array,
    leaving: Array,
    ahead: Array,
    giving: Array,
    chance: Array,
) -> None:
    """Predict the label from the state one step ahead, then filter the state by it and count what it was.

    Shapes: y f8[n], score f8[n, 1] (binary) or f8[n, K], belief f8[M], transitions f8[M, M], emissions f8[M, K];
    leaving f8[M], ahead f8[M], giving f8[M], chance f8[K] scratch. ALGORITHMS.md 6. Every count stays >= 1, hence no
    state and no class ever has the probability 0.
    """
    m, n_classes = emissions.shape
    for t in range(y.shape[0]):
        for j in range(m):
            ahead[j] = 0.0
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += transitions[i, j]
            leaving[i] = belief[i] / total
            for j in range(m):
                ahead[j] += leaving[i] * transitions[i, j]  # pi = A'p
        for c in range(n_classes):
            chance[c] = 0.0
        for k in range(m):
            total = 0.0
            for c in range(n_classes):
                total += emissions[k, c]
            giving[k] = ahead[k] / total
            for c in range(n_classes):
                chance[c] += giving[k] * emissions[k, c]  # S
        if score.shape[1] == 1:
            score[t, 0] = log(chance[1] / chance[0])
        else:
            for c in range(n_classes):
                score[t, c] = chance[c]
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        for j in range(m):
            belief[j] = giving[j] * emissions[j, label] / chance[label]
            for c in range(n_classes):
                start = 1.0 + (own if c == j % n_classes else 0.0)
                emissions[j, c] = start + decay * (emissions[j, c] - start)
            emissions[j, label] += belief[j]
            giving[j] = belief[j] / ahead[j]  # B_jc / S_c
        for i in range(m):
            for j in range(m):
                start = 1.0 + (stay if i == j else 0.0)
                joint = leaving[i] * transitions[i, j] * giving[j] if learn_A else 0.0
                transitions[i, j] = start + decay * (transitions[i, j] - start) + joint
