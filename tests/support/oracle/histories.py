"""ALGORITHMS.md 12.3 and `adaboost_ol`, `eos_elm` of 12.2: experts by the row of their birth, or in a row."""

from __future__ import annotations

import math

from tests.support.oracle.experts import Expert
from tests.support.oracle.protocol import sign_of


def logistic(margin):
    return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)


class FLH:
    def __init__(self, n_features, n_classes, kind, base="ogd_logistic/schedule=const/eta=0.1", alpha=1.0):
        self.fresh = lambda: Expert(base, n_features, n_classes, kind)
        self.alpha, self.t = alpha, 1
        self.alive = {1: self.fresh()}

    def score(self, x):
        return [sum(e.weight * e.one.score(x)[0] for e in self.alive.values())]

    def learn(self, x, y):
        for e in self.alive.values():
            e.weight *= math.exp(-self.alpha * min(1.0, logistic(sign_of(y) * e.one.score(x)[0])))
            e.learn(x, y)
        total = sum(e.weight for e in self.alive.values())
        self.t += 1
        for e in self.alive.values():
            e.weight *= (1.0 - 1.0 / self.t) / total
        self.alive = {born: e for born, e in self.alive.items() if self.t <= born + 4 * largest_power(born)}
        self.alive[self.t] = self.fresh()
        self.alive[self.t].weight = 1.0 / self.t
        total = sum(e.weight for e in self.alive.values())
        for e in self.alive.values():
            e.weight /= total


def largest_power(t):
    """2^k of t = j 2^k, j odd."""
    power = 1
    while t % (2 * power) == 0:
        power *= 2
    return power


class SAOL:
    def __init__(self, n_features, n_classes, kind, base="ogd_logistic/schedule=const/eta=0.1"):
        self.fresh = lambda j: Expert(base, n_features, n_classes, kind, self.rate(j))
        self.t, self.scales = 1, [self.fresh(0)]

    @staticmethod
    def rate(j):
        return min(0.5, 2.0 ** (-j / 2))

    def score(self, x):
        return [sum(e.weight * e.one.score(x)[0] for e in self.scales) / sum(e.weight for e in self.scales)]

    def learn(self, x, y):
        losses = [min(1.0, logistic(sign_of(y) * e.one.score(x)[0])) for e in self.scales]
        total = sum(e.weight for e in self.scales)
        mean = sum(e.weight / total * loss for e, loss in zip(self.scales, losses, strict=True))
        for j, (e, loss) in enumerate(zip(self.scales, losses, strict=True)):
            e.weight *= 1.0 + self.rate(j) * (mean - loss)
            e.learn(x, y)
        self.t += 1
        for j in range(self.t.bit_length()):
            if self.t % 2**j == 0:
                self.scales[j : j + 1] = [self.fresh(j)]
