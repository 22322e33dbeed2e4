"""docs/algorithms/linear.md#linear-learners: the elimination learner, with a set of literals."""

from __future__ import annotations


class Conjunction:
    def __init__(self, n_features, n_classes, kind):
        self.kept = {(j, truth) for j in range(n_features) for truth in (True, False)}

    def violated(self, x):
        return {(j, truth) for j, truth in self.kept if (x[j] > 0.5) != truth}

    def score(self, x):
        return [-1.0 if self.violated(x) else 1.0]

    def learn(self, x, y):
        if y == 1.0:
            self.kept -= self.violated(x)
