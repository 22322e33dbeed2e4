"""ALGORITHMS.md 1.5: the online standardiser in front of an oracle; labelled rows only."""

from __future__ import annotations

import math


class Standardize:
    def __init__(self, oracle, n_features):
        self.oracle = oracle
        self.rows = 0
        self.mean = [0.0] * n_features
        self.q = [0.0] * n_features

    def scaled(self, x):
        z = []
        for j, value in enumerate(x):
            sd = math.sqrt(self.q[j] / self.rows) if self.rows else 0.0
            z.append(0.0 if sd <= 1e-12 else max(-10.0, min(10.0, (value - self.mean[j]) / sd)))
        return z

    def score(self, x):
        return self.oracle.score(self.scaled(x))

    def learn(self, x, y):
        self.oracle.learn(self.scaled(x), y)
        self.rows += 1
        for j, value in enumerate(x):
            before = value - self.mean[j]
            self.mean[j] += before / self.rows
            self.q[j] += before * (value - self.mean[j])
