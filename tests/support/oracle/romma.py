"""docs/algorithms/linear.md#linear-learners: ROMMA and its aggressive form."""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of


class ROMMA:
    def __init__(self, n_features, n_classes, kind, intercept=True):
        self.intercept = intercept
        self.w, self.mu = [0.0] * (n_features + intercept), 1.0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learns(self, margin):
        return margin <= 0.0

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        s = inner(self.w, x)
        if not self.learns(y * s) or inner(x, x) == 0.0:
            return
        self.w = self.moved(x, y, s)
        norm = math.sqrt(inner(self.w, self.w))
        if norm > 1e6:
            self.w = [w * (1.0 / norm) for w in self.w]
            self.mu = max(self.mu / norm, 1e-200)

    def moved(self, x, y, s):
        x2, w2 = inner(x, x), inner(self.w, self.w)
        den = x2 * w2 - s * s
        alone = [self.mu * y / x2 * v for v in x]
        if w2 == 0.0:
            return alone
        if den <= 1e-12 * (x2 * w2):
            return [w + (self.mu * y - s) / x2 * v for w, v in zip(self.w, x, strict=True)]
        c = (x2 * w2 - self.mu * y * s) / den
        e = w2 * (self.mu * y - s) / den
        return alone if c < 0.0 else [c * w + e * v for w, v in zip(self.w, x, strict=True)]


class AROMMA(ROMMA):
    def learns(self, margin):
        return margin < self.mu
