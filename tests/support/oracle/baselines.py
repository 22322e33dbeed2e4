"""docs/algorithms/baselines.md#baselines: learners that use labels only, and Gaussian naive Bayes."""

from __future__ import annotations

import math
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


class RunningMean:
    def __init__(self, n_features, n_classes, kind):
        self.seen = []

    def score(self, x):
        return [math.fsum(self.seen) / len(self.seen) if self.seen else 0.0]

    def learn(self, x, y):
        self.seen.append(y)


class GaussianNB:
    """Keeps all rows; mean and variance of a class by definition, each row weighted by its age."""

    def __init__(self, n_features, n_classes, kind, var_floor=1e-9, decay=1.0):
        self.d, self.n_classes, self.binary = n_features, n_classes, kind == "binary"
        self.floor, self.decay = var_floor, decay
        self.past = [[] for _ in range(n_classes)]
        self.moments = [None] * n_classes
        self.learned = 0

    def weight(self, c):
        return math.fsum(self.decay ** (self.learned - when) for when, _ in self.past[c])

    def fit(self, c, x, total):
        mean, variance = self.moments[c]
        terms = [math.log(v) + (a - m) ** 2 / v for a, m, v in zip(x, mean, variance, strict=True)]
        return math.log(self.weight(c) / total) - 0.5 * math.fsum(terms)

    def score(self, x):
        seen = [c for c in range(self.n_classes) if self.past[c]]
        if self.binary and len(seen) < 2:
            return [0.0 if not seen else (-1.0, 1.0)[seen[0]]]
        total = math.fsum(self.weight(c) for c in seen)
        fits = [self.fit(c, x, total) if c in seen else -1e300 for c in range(self.n_classes)]
        return [fits[1] - fits[0]] if self.binary else fits

    def learn(self, x, y):
        c = int(y)
        self.learned += 1
        self.past[c].append((self.learned, x))
        weights = [self.decay ** (self.learned - when) for when, _ in self.past[c]]
        mean = [self.average(weights, [row[j] for _, row in self.past[c]]) for j in range(self.d)]
        spread = [self.average(weights, [(row[j] - mean[j]) ** 2 for _, row in self.past[c]]) for j in range(self.d)]
        self.moments[c] = (mean, [max(v, self.floor) for v in spread])

    @staticmethod
    def average(weights, values):
        return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
