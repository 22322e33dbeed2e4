"""`auto` on labels."""

from __future__ import annotations

from math import sqrt

from tests.support.oracle.auto.experts import (
    Covariance,
    FirstOrder,
    LabelHistory,
    NaiveBayes,
    Neighbours,
    SecondOrder,
    Waves,
    rival,
)
from tests.support.oracle.protocol import inner


def squashed(S):
    """Each class's lead over the best other class, squashed to between -1 and 1."""
    leads = [2.0 * (s - S[rival(S, c)]) for c, s in enumerate(S)]
    return [lead / (1.0 + abs(lead)) for lead in leads]


def evidence(S):
    """Scores relative to the best one, at least -8."""
    return [max(s - max(S), -8.0) for s in S]


class Classes:
    """All experts and the mixture, on scaled rows."""

    def __init__(self, n, K, binary, affordable, seed):
        self.K, self.binary = K, binary
        waves, filters, near = affordable(
            [128 * (n + 8 * (1 if K == 2 else K)), 4 * (n + 1) ** 2, 512 * n],
            [1.0, 1.25, 1.0],
        )
        self.experts = [LabelHistory(K), FirstOrder(K, n + 1, 0.05), NaiveBayes(K, n)]
        self.experts += [Waves(K, n, seed)] * waves + [SecondOrder(K, n + 1)] * filters + [Neighbours(K)] * near
        E = 2 + 4 + 2 + 4 * waves + 2 * filters + 2 * near
        self.weight = [0.5 / sqrt(2 * E)] * (2 * E)
        self.covariance = Covariance(2 * E, 0.03, 0.03, 1e-6, 0.01)

    def inputs(self, z):
        """2 E rows of K scores: evidence and squashed leads of E experts."""
        scores = [S for expert in self.experts for S in expert.say(z)]
        return [evidence(S) for S in scores] + [squashed(S) for S in scores]

    def mixed(self, z):
        by_class = zip(*self.inputs(z), strict=True)
        return [inner(self.weight, column) for column in by_class]

    def score(self, z):
        S = self.mixed([*z, 1.0])
        return [S[1] - S[0]] if self.binary else S

    def learn(self, z, y):
        z, y = [*z, 1.0], int(y)
        inputs, S = self.inputs(z), self.mixed(z)
        r = rival(S, y)
        lead = [of_class[y] - of_class[r] for of_class in inputs]
        step = self.covariance.gain(lead, S[y] - S[r])
        self.weight = [w + s for w, s in zip(self.weight, step, strict=True)]
        for expert in self.experts:
            expert.learn(z, y)
