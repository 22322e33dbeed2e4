"""docs/algorithms/ensembles.md#ensembles: ensembles as lists of experts, each the oracle of its learner."""

from __future__ import annotations

from tests.support.oracle.baselines import GaussianNB
from tests.support.oracle.gradient_descent import Logistic
from tests.support.oracle.least_squares import RLS
from tests.support.oracle.second_order import AROW

BASES = {"gaussian_nb": GaussianNB, "arow": AROW, "rls": RLS, "ogd_logistic": Logistic}


class Expert:
    """An oracle with a weight, created from a text such as ``arow/q=1e-4``."""

    def __init__(self, base, n_features, n_classes, kind, weight=1.0):
        name, *pairs = base.split("/")
        given = {}
        for pair in pairs:
            key, value = pair.split("=")
            try:
                given[key] = float(value)
            except ValueError:
                given[key] = value
        self.one, self.weight = BASES[name](n_features, n_classes, kind, **given), weight

    def vote(self, x):
        s = self.one.score(x)
        return int(s[0] >= 0.0) if len(s) == 1 else s.index(max(s))

    def learn(self, x, y):
        self.one.learn(x, y)


def shares(votes, weights, n_classes):
    """Scores: each class's share of the weight; with two classes, the difference of the shares."""
    S = [sum(w for v, w in zip(votes, weights, strict=True) if v == c) / sum(weights) for c in range(n_classes)]
    return [S[1] - S[0]] if n_classes == 2 else S


def elected(votes, weights, n_classes):
    S = [sum(w for v, w in zip(votes, weights, strict=True) if v == c) for c in range(n_classes)]
    return int(S[1] >= S[0]) if n_classes == 2 else S.index(max(S))


class DWM:
    def __init__(
        self, n_features, n_classes, kind, base="gaussian_nb", beta=0.5, theta=0.01, period=50, max_experts=25
    ):
        self.beta, self.theta, self.period, self.most, self.n_classes = beta, theta, period, max_experts, n_classes
        self.fresh = lambda: Expert(base, n_features, n_classes, kind)
        self.experts, self.i = [self.fresh()], 0

    def score(self, x):
        return shares([e.vote(x) for e in self.experts], [e.weight for e in self.experts], self.n_classes)

    def learn(self, x, y):
        self.i += 1
        if self.i % self.period == 0:
            votes = [e.vote(x) for e in self.experts]
            for e, vote in zip(self.experts, votes, strict=True):
                if vote != y:
                    e.weight *= self.beta
            wrong = elected(votes, [e.weight for e in self.experts], self.n_classes) != y
            heaviest = max(e.weight for e in self.experts)
            for e in self.experts:
                e.weight /= heaviest
            self.experts = [e for e in self.experts if e.weight >= self.theta]
            if wrong:
                if len(self.experts) == self.most:
                    self.experts.remove(min(self.experts, key=lambda e: e.weight))
                self.experts.append(self.fresh())
        for e in self.experts:
            e.learn(x, y)
