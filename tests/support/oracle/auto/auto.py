"""`auto`: clip the row, then apply classes or targets."""

from __future__ import annotations

from tests.support.oracle.auto.classes import Classes
from tests.support.oracle.auto.targets import Targets


class Auto:
    def __init__(self, n_features, n_classes, kind, budget=30.0, seed=1):
        def affordable(costs, worths):
            """A family is used if the budget covers it and all families of lower cost per worth."""
            price = [cost / worth for cost, worth in zip(costs, worths, strict=True)]
            rank = [sorted(zip(price, range(len(price)), strict=True)).index((p, i)) for i, p in enumerate(price)]
            needed = [sum(cost for cost, other in zip(costs, rank, strict=True) if other <= own) for own in rank]
            return [need <= budget / 0.25e-3 for need in needed]

        if kind == "regression":
            self.inner = Targets(n_features, affordable, seed)
        else:
            self.inner = Classes(n_features, n_classes, kind == "binary", affordable, seed)

    def score(self, x):
        return self.inner.score([min(max(value, -6.0), 6.0) for value in x])

    def learn(self, x, y):
        self.inner.learn([min(max(value, -6.0), 6.0) for value in x], y)

    def cache(self, x):
        """What is kept of a row until its label comes."""
        return self.inner.cache([min(max(value, -6.0), 6.0) for value in x])

    def learn_late(self, x, y, cached):
        self.inner.learn_late([min(max(value, -6.0), 6.0) for value in x], y, cached)
