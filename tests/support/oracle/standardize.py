"""The online standardiser in front of an oracle; it learns from labelled rows only.

See docs/algorithms/preprocessing.md#standardiser and docs/decisions/0022.
"""

from __future__ import annotations

import math

LOOKS = {32, 64, 128, 256, 512}


class Statistics:
    """Mean and squared deviations of one feature; values are clipped to `most` standard deviations."""

    def __init__(self, most):
        self.most = most
        self.rows, self.mean, self.q, self.wild = 0, 0.0, 0.0, 0

    def sd(self):
        return math.sqrt(self.q / self.rows) if self.rows else 0.0

    def deviations(self, value):
        sd = self.sd()
        return (value - self.mean) / sd if sd > 1e-12 else 0.0

    def learn(self, value):
        sd = self.sd()
        if self.rows >= 30 and sd > 1e-12 and abs((value - self.mean) / sd) > self.most:
            value = self.mean + math.copysign(self.most * sd, value - self.mean)
        self.rows += 1
        before = value - self.mean
        mean = self.mean + before / self.rows
        q = self.q + before * (value - mean)
        if math.isfinite(mean) and math.isfinite(q):
            self.mean, self.q = mean, q


class Standardize:
    def __init__(self, oracle, n_features, unscaled=()):
        self.oracle, self.unscaled = oracle, unscaled
        self.rows = 0
        self.all = [Statistics(60.0) for _ in range(n_features)]
        self.recent = [Statistics(10.0) for _ in range(n_features)]

    def wild(self, j, value):
        return self.rows >= 30 and abs(self.all[j].deviations(value)) > 300.0

    def scaled(self, x):
        z = [max(-10.0, min(10.0, seen.deviations(value))) for value, seen in zip(x, self.all, strict=True)]
        z = [0.0 if self.wild(j, value) else z[j] for j, value in enumerate(x)]
        return [value if j in self.unscaled else z[j] for j, value in enumerate(x)]

    def score(self, x):
        return self.oracle.score(self.scaled(x))

    def learn(self, x, y):
        self.oracle.learn(self.scaled(x), y)
        for j, value in enumerate(x):
            self.all[j].learn(self.all[j].mean if self.wild(j, value) else value)
        self.rows += 1
        if self.rows < 256 or self.rows % 8 == 0:
            for j, value in enumerate(x):
                self.recent[j].learn(value)
                self.recent[j].wild += abs(self.all[j].deviations(value)) > 300.0
        if self.rows in LOOKS or self.rows % 1024 == 0:
            for j, (seen, lately) in enumerate(zip(self.all, self.recent, strict=True)):
                variance = lately.q / lately.rows
                if variance > 1e-24 and (seen.q / seen.rows > 100.0 * variance or 2 * lately.wild >= lately.rows):
                    seen.mean, seen.q = lately.mean, variance * seen.rows
                self.recent[j] = Statistics(10.0)
