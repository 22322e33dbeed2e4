"""`auto` on labels."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tests.support.oracle.auto.bulk import Bulk
from tests.support.oracle.auto.experts import (
    CosineExperts,
    Covariance,
    FirstOrder,
    LabelHistory,
    LateResiduals,
    NaiveBayes,
    Neighbours,
    RisenLoss,
    SecondOrder,
    over_others,
    rival,
    sigmoid,
)
from tests.support.oracle.auto.forests import ClassForest, Usage
from tests.support.oracle.auto.network import Network, errors_of_classes, replays
from tests.support.oracle.auto.values import ClassValues
from tests.support.oracle.protocol import inner


def squashed(S):
    """Each class's lead over the best other class, squashed to between -1 and 1."""
    leads = [2.0 * (s - S[rival(S, c)]) for c, s in enumerate(S)]
    return [lead / (1.0 + abs(lead)) for lead in leads]


class Mixture:
    """Logistic regression on the scores of E experts, as they are and squashed."""

    def __init__(self, E, weight, surest):
        self.weight, self.surest = weight, surest
        self.covariance, self.risen = Covariance(2 * E, 0.03, 0.03, 1e-6, 0.01), RisenLoss()
        self.residuals = LateResiduals()

    def inputs(self, scores):
        """2 E rows of K scores: scores relative to the best one, and squashed leads."""
        return [[max(s - max(S), -self.surest) for s in S] for S in scores] + [squashed(S) for S in scores]

    def mixed(self, scores):
        by_class = zip(*self.inputs(scores), strict=True)
        return [inner(self.weight, column) for column in by_class]

    def learn(self, scores, y, late=False):
        """`late`: the scores are those of the time when the row was predicted."""
        lead, by_class = over_others(self.mixed(scores), y)
        wrong, count = 1.0 - sigmoid(lead), 1.0
        if late:
            count -= self.residuals.correlation([wrong * one for one in by_class]) ** 2
        before = [row[:] for row in self.covariance.P]
        step = self.covariance.gain([inner(row, by_class) for row in self.inputs(scores)], lead, count)
        moved = [w + s for w, s in zip(self.weight, step, strict=True)]
        if late and sum(moved) < 0.5:
            self.covariance.P = before
            for i in range(len(before)):
                before[i][i] += count * 1e-6 if before[i][i] < 0.03 else 0.0
        else:
            self.weight = moved
        if self.risen.after(wrong**2) and not late:
            P = self.covariance.P
            for i in range(len(P)):
                P[i][i] += 3e-3 if P[i][i] < 0.03 else 0.0


def loss_of(S, y):
    return (1.0 - sigmoid(over_others(S, y)[0])) ** 2


class Forests:
    """The second mixture, of the first one's score, three forests' and a network's, and one of that score alone."""

    GROWTHS = ((100.0, 0.8635, 0.03, 0.997), (25.0, 0.5756, 0.1, 0.99), (8.0, 0.3745, 0.25, 0.98))

    def __init__(self, K, seed, bulk, network):
        n = len(bulk.last)
        self.network = Network(n + 1, 1 if K == 2 else K, seed + 4, errors_of_classes) if network else None
        self.forests = [ClassForest(K, seed + 1 + i, n, growth) for i, growth in enumerate(self.GROWTHS)]
        E = 5 if network else 4
        self.mixture = Mixture(E, [1.0] + [0.0] * (2 * E - 1), 35.0)
        self.alone = Mixture(1, [1.0, 0.0], 35.0)
        self.usage, self.bulk = Usage(0.01, 1), bulk

    def said(self, z):
        """Their scores, or None if they are not used."""
        if not self.usage.used:
            return None
        bins = self.bulk.bins(z, ClassForest.BINS)
        said = [forest.say(bins) for forest in self.forests]
        if self.network:
            says = self.network.say([*self.bulk.row(z), 1.0])
            said.append([0.0, *says] if len(says) == 1 else says)
        return said

    def score(self, S, said):
        return self.alone.mixed([S]) if said is None else self.mixture.mixed([S, *said])

    def learn(self, z, S, said, y, late):
        before = self.score(S, said)
        if said is not None:
            self.mixture.learn([S, *said], y, late)
        if self.usage.used:
            bins = self.bulk.bins(z, ClassForest.BINS)
            for forest in self.forests:
                forest.learn(bins, y)
            if self.network:
                self.network.learn([*self.bulk.row(z), 1.0], [y])
        self.usage.judge(loss_of(self.alone.mixed([S]), y), loss_of(before, y))
        self.alone.learn([S], y, late)


def in_single_precision(scores):
    """What is cached of a row: single precision; with two classes the difference."""
    if len(scores[0]) == 2:
        scores = [[0.0, S[1] - S[0]] for S in scores]
    return [[float(np.float32(s)) for s in S] for S in scores]


class Classes:
    """All experts and the mixtures, on scaled rows."""

    def __init__(self, n, K, binary, affordable, seed):
        self.K, self.binary = K, binary
        C = 1 if K == 2 else K
        waves, filters, near, forests, network, values = affordable(
            [
                128 * (n + 8 * C),
                4 * (n + 1) ** 2,
                512 * n,
                3 * (16 * (100 + 8 * min(n, 12) + 8 * K) + n),
                (1 + replays(n + 1)) * (45 * (n + 1) + 500 * C + 900),
                n * (30 + 4 * C),
            ],
            [1.0, 1.25, 1.0, 1.0, 0.3, 0.05],
        )
        self.experts = [LabelHistory(K), FirstOrder(K, n + 1, 0.05), NaiveBayes(K, n)]
        self.experts += [CosineExperts(K, n, seed)] * waves + [SecondOrder(K, n + 1)] * filters + [Neighbours(K)] * near
        E = 2 + 4 + 2 + 4 * waves + 2 * filters + 2 * near
        self.mixture = Mixture(E, [0.5 / sqrt(2 * E)] * (2 * E), 8.0)
        self.bulk = Bulk(n)
        self.forests = Forests(K, seed, self.bulk, network) if forests else None
        self.values = ClassValues(K, n + 1, Mixture(2, [1.0, 0.0, 0.0, 0.0], 35.0)) if values else None
        self.raw = []

    def said(self, z):
        return [S for expert in self.experts for S in expert.say(z)]

    def row(self, z):
        return [*self.bulk.row(z), 1.0]

    def score(self, z):
        row = self.row(z)
        S = self.mixture.mixed(self.said(row))
        if self.forests:
            S = self.forests.score(S, self.forests.said(z))
        if self.values:
            S = self.values.score(row, self.raw, S)
        return [S[1] - S[0]] if self.binary else S

    def said_of(self, z):
        """What all experts say: the first mixture's, the forests if they are used, and both inputs of the third."""
        row = self.row(z)
        scores, said, both = self.said(row), self.forests.said(z) if self.forests else None, None
        if self.values and self.values.any_used(self.raw):
            S = self.mixture.mixed(scores)
            both = self.values.both(row, self.raw, self.forests.score(S, said) if self.forests else S)
        return scores, said, both

    def learn(self, z, y):
        self.teach(z, int(y), *self.said_of(z), self.experts[0].contexts(), late=False)

    def cache(self, z):
        """What the experts say of a row whose label is not known yet, and after which labels."""
        scores, said, both = self.said_of(z)
        scores, said, both = (said_by and in_single_precision(said_by) for said_by in (scores, said, both))
        return scores, said, both, self.experts[0].contexts()

    def learn_late(self, z, y, cached):
        self.teach(z, int(y), *cached, late=True)

    def teach(self, z, y, scores, said, both, contexts, late):
        row = self.row(z)
        if self.values:
            self.values.learn(row, self.raw, both, y, late)
        if self.forests:
            self.forests.learn(z, self.mixture.mixed(scores), said, y, late)
        self.mixture.learn(scores, y, late)
        history, *others = self.experts
        history.learn(row, y, contexts)
        for expert in others:
            expert.learn(row, y)
