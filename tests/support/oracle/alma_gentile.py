"""ALMA as published by Gentile, on the dual vector, with the published norms.

See docs/algorithms/linear.md#linear-learners.
"""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of


def norm(v, p):
    return sum(abs(c) ** p for c in v) ** (1.0 / p)


class ALMAGentile:
    def __init__(self, n_features, n_classes, kind, a=0.9, B="auto", C=2.0**0.5, p=2.0, intercept=True):
        d = n_features + intercept
        self.p = max(2.0, 2.0 * math.log(d)) if p == "auto" else p
        self.B = math.sqrt(8.0) / a if B == "auto" else B
        self.a, self.C, self.intercept = a, C, intercept
        self.theta, self.k = [0.0] * d, 1

    def weights(self):
        size = norm(self.theta, self.p)
        if size == 0.0:
            return self.theta
        return [math.copysign(abs(v) ** (self.p - 1.0), v) / size ** (self.p - 2.0) for v in self.theta]

    def score(self, x):
        return [inner(self.weights(), extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        if norm(x, self.p) == 0.0:
            return
        unit = [v / norm(x, self.p) for v in x]
        gamma = self.B * math.sqrt(self.p - 1.0) / math.sqrt(self.k)
        if y * inner(self.weights(), unit) > (1.0 - self.a) * gamma:
            return
        eta = self.C / (math.sqrt(self.p - 1.0) * math.sqrt(self.k))
        theta = [v + eta * y * u for v, u in zip(self.theta, unit, strict=True)]
        self.theta = [v / max(1.0, norm(theta, self.p)) for v in theta]
        self.k += 1
