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


class Feature:
    """The statistics of all values of a feature, and of recent ones."""

    def __init__(self):
        self.all, self.recent = Statistics(60.0), Statistics(10.0)

    def wild(self, value):
        return self.all.rows >= 30 and abs(self.all.deviations(value)) > 300.0

    def scaled(self, value):
        return 0.0 if self.wild(value) else max(-10.0, min(10.0, self.all.deviations(value)))

    def learn(self, value):
        seen = self.all
        seen.learn(seen.mean if self.wild(value) else value)
        if seen.rows < 256 or seen.rows % 8 == 0:
            self.recent.learn(value)
            self.recent.wild += abs(seen.deviations(value)) > 300.0
        if seen.rows in LOOKS or seen.rows % 1024 == 0:
            lately = self.recent
            variance = lately.q / lately.rows
            away = (lately.mean - seen.mean) ** 2 if seen.rows > 1024 else 0.0
            too_large = seen.q / seen.rows > 100.0 * (variance + away)
            if variance > 1e-24 and (too_large or 2 * lately.wild >= lately.rows):
                seen.mean, seen.q = lately.mean, variance * seen.rows
            self.recent = Statistics(10.0)


class Standardize:
    def __init__(self, oracle, n_features, unscaled=()):
        self.oracle, self.unscaled = oracle, unscaled
        self.features = [Feature() for _ in range(n_features)]

    def scaled(self, x):
        z = [feature.scaled(value) for value, feature in zip(x, self.features, strict=True)]
        scaled = [value if j in self.unscaled else z[j] for j, value in enumerate(x)]
        return scaled + list(x) if getattr(self.oracle, "reads_raw", False) else scaled

    def score(self, x):
        return self.oracle.score(self.scaled(x))

    def learn(self, x, y):
        self.oracle.learn(self.scaled(x), y)
        for value, feature in zip(x, self.features, strict=True):
            feature.learn(value)
