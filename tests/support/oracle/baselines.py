"""ALGORITHMS.md 2: majority class and no change."""

from __future__ import annotations

from collections import Counter


class MajorityClass:
    def __init__(self, n_features, n_classes, kind):
        self.kind, self.n_classes = kind, n_classes
        self.seen = []

    def score(self, x):
        counts = Counter(self.seen)
        if self.kind == "binary":
            return [float(counts[1.0] - counts[0.0])]
        return [float(counts[float(c)]) for c in range(self.n_classes)]

    def learn(self, x, y):
        self.seen.append(y)


class NoChange:
    def __init__(self, n_features, n_classes, kind):
        self.kind, self.n_classes = kind, n_classes
        self.previous = None

    def score(self, x):
        if self.kind == "regression":
            return [0.0 if self.previous is None else self.previous]
        if self.kind == "binary":
            return [-1.0 if self.previous == 0.0 else 1.0]
        return [1.0 if self.previous == c else 0.0 for c in range(self.n_classes)]

    def learn(self, x, y):
        self.previous = y
