"""`auto`: clip the row, then apply classes or targets."""

from __future__ import annotations

from tests.support.oracle.auto.classes import Classes
from tests.support.oracle.auto.targets import Targets


def clipped(x, most):
    return [min(max(value, -most), most) for value in x]


class Auto:
    def __init__(self, n_features, n_classes, kind, budget=30.0, seed=1):
        def affordable(costs, worths):
            """A family is used if the budget covers it and all families of lower cost per worth."""
            price = [cost / worth for cost, worth in zip(costs, worths, strict=True)]
            rank = [sorted(zip(price, range(len(price)), strict=True)).index((p, i)) for i, p in enumerate(price)]
            needed = [sum(cost for cost, other in zip(costs, rank, strict=True) if other <= own) for own in rank]
            return [need <= budget / 0.25e-3 for need in needed]

        self.n, self.reads_raw = n_features, True
        if kind == "regression":
            self.inner = Targets(n_features, affordable, seed)
        else:
            self.inner = Classes(n_features, n_classes, kind == "binary", affordable, seed)

    def score(self, x):
        self.note(x)
        return self.inner.score(clipped(x[: self.n], 6.0))

    def learn(self, x, y):
        self.note(x)
        self.inner.learn(clipped(x[: self.n], 6.0), y)
        self.inner.bulk.learn(clipped(x[: self.n], 10.0), x[self.n :] or None)

    def cache(self, x):
        """What is kept of a row until its label comes."""
        self.note(x)
        return self.inner.cache(clipped(x[: self.n], 6.0))

    def learn_late(self, x, y, cached):
        self.note(x)
        self.inner.learn_late(clipped(x[: self.n], 6.0), y, cached)
        self.inner.bulk.learn(clipped(x[: self.n], 10.0), x[self.n :] or None)

    def note(self, x):
        """Keep the row as it came, which the standardiser leaves behind the scaled one."""
        self.inner.raw = x[-self.n :]
