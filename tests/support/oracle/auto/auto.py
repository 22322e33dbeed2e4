"""`auto`: the row bounded, then classes or targets."""

from __future__ import annotations

from tests.support.oracle.auto.classes import Classes
from tests.support.oracle.auto.targets import Targets


class Auto:
    def __init__(self, n_features, n_classes, kind, budget=30.0, seed=1):
        def affordable(*costs):
            left, taken = budget / 0.25e-3, []
            for cost in costs:
                taken.append(cost <= left)
                left -= cost if taken[-1] else 0.0
            return taken

        if kind == "regression":
            self.inner = Targets(n_features, affordable)
        else:
            self.inner = Classes(n_features, n_classes, kind == "binary", affordable, seed)

    def score(self, x):
        return self.inner.score([min(max(value, -6.0), 6.0) for value in x])

    def learn(self, x, y):
        self.inner.learn([min(max(value, -6.0), 6.0) for value in x], y)
