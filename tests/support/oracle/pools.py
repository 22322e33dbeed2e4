"""ALGORITHMS.md 12.2: additive experts, bags and pools that are renewed in periods; experts are oracles."""

from __future__ import annotations

import math

from tests.support.oracle.experts import BASES, Expert, elected, shares
from tests.support.oracle.forgetting import DFOP
from tests.support.oracle.random import Xoshiro

BASES["dfop"] = DFOP


def base_of(base, kind):
    """What `auto` stands for."""
    return {"auto": "rls" if kind == "regression" else "gaussian_nb"}.get(base, base)


class AddExp:
    """Both forms: `self.experts` from the oldest to the newest."""

    def __init__(self, n_features, n_classes, kind, base, most, prune):
        self.n_classes, self.most, self.prune = n_classes, most, prune
        self.fresh = lambda weight: Expert(base, n_features, n_classes, kind, weight)
        self.experts = [self.fresh(1.0)]

    def total(self):
        return sum(e.weight for e in self.experts)

    def bear(self, weight):
        born = self.fresh(weight)
        if len(self.experts) == self.most:
            oldest = self.prune == "oldest"
            self.experts.remove(self.experts[0] if oldest else min(self.experts, key=lambda e: e.weight))
        self.experts.append(born)

    def train(self, x, y):
        total = self.total()
        for e in self.experts:
            e.learn(x, y)
            e.weight /= total


class AddExpD(AddExp):
    def __init__(
        self, n_features, n_classes, kind, base="gaussian_nb", beta=0.5, gamma=0.1, max_experts=10, prune="weakest",
        new_weight="after",
    ):  # fmt: skip
        super().__init__(n_features, n_classes, kind, base, max_experts, prune)
        self.beta, self.gamma, self.before = beta, gamma, new_weight == "before"

    def score(self, x):
        return shares([e.vote(x) for e in self.experts], [e.weight for e in self.experts], self.n_classes)

    def learn(self, x, y):
        votes, before = [e.vote(x) for e in self.experts], self.total()
        wrong = elected(votes, [e.weight for e in self.experts], self.n_classes) != y
        for e, vote in zip(self.experts, votes, strict=True):
            if vote != y:
                e.weight *= self.beta
        if wrong:
            self.bear(self.gamma * (before if self.before else self.total()))
        self.train(x, y)


class AddExpC(AddExp):
    def __init__(
        self, n_features, n_classes, kind, base="rls", beta=0.5, gamma=0.1, tau=0.05, max_experts=10, prune="weakest",
        y_min=0.0, y_max=0.0,
    ):  # fmt: skip
        super().__init__(n_features, n_classes, kind, base, max_experts, prune)
        self.beta, self.gamma, self.tau = beta, gamma, tau
        self.range = (y_min, y_max) if y_min < y_max else None
        self.seen = []

    def ends(self):
        return self.range or (min(self.seen, default=0.0), max(self.seen, default=0.0))

    def place(self, value):
        low, high = self.ends()
        return (min(max(value, low), high) - low) / (high - low) if high > low else 0.0

    def mean(self, places):
        return sum(e.weight * xi for e, xi in zip(self.experts, places, strict=True)) / self.total()

    def score(self, x):
        low, high = self.ends()
        return [low + (high - low) * self.mean([self.place(e.one.score(x)[0]) for e in self.experts])]

    def learn(self, x, y):
        self.seen.append(y)
        places, target = [self.place(e.one.score(x)[0]) for e in self.experts], self.place(y)
        wrong = abs(self.mean(places) - target) >= self.tau
        errors = [abs(xi - target) for xi in places]
        missed = sum(e.weight * error for e, error in zip(self.experts, errors, strict=True))
        for e, error in zip(self.experts, errors, strict=True):
            e.weight *= self.beta**error
        if wrong:
            self.bear(self.gamma * missed)
        self.train(x, y)


class OnlineBagging:
    def __init__(self, n_features, n_classes, kind, base="auto", n=10, seed=1):
        self.kind, self.n_classes = kind, n_classes
        self.experts = [Expert(base_of(base, kind), n_features, n_classes, kind) for _ in range(n)]
        self.random = Xoshiro(seed)

    def score(self, x):
        n = len(self.experts)
        if self.kind == "regression":
            return [math.fsum(e.one.score(x)[0] for e in self.experts) / n]
        return shares([e.vote(x) for e in self.experts], [1.0] * n, self.n_classes)

    def learn(self, x, y):
        for e in self.experts:
            for _ in range(self.random.poisson(1.0)):
                e.learn(x, y)
