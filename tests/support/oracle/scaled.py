"""docs/algorithms/preprocessing.md#standardiser, over a full set: an oracle on rows scaled with fixed statistics."""

from __future__ import annotations


class Scaled:
    def __init__(self, behind, n_features, n_classes, kind, mean=None, deviation=None, **parameters):
        self.behind = behind(n_features, n_classes, kind, **parameters)
        self.mean = mean or [0.0] * n_features
        self.deviation = deviation or [1.0] * n_features

    def scale(self, x):
        z = []
        for value, mean, deviation in zip(x, self.mean, self.deviation, strict=True):
            z.append(0.0 if deviation == 0.0 else (value - mean) / deviation)
        return z

    def score(self, x):
        return self.behind.score(self.scale(x))

    def learn(self, x, y):
        self.behind.learn(self.scale(x), y)
