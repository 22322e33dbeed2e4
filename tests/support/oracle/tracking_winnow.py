"""docs/algorithms/ensembles.md#adaptive-regret-and-model-reuse: normalised Winnow with a minimum per probability."""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of


class TrackingWinnow:
    def __init__(self, n_features, n_classes, kind, eta=0.1, share=0.01, U=10.0, intercept=True):
        self.eta, self.share, self.U, self.intercept = eta, share, U, intercept
        d = n_features + intercept
        self.p = [1.0 / (2 * d)] * (2 * d)

    def score(self, x):
        x = extended(x, self.intercept)
        d = len(x)
        return [self.U * inner([self.p[j] - self.p[d + j] for j in range(d)], x)]

    def learn(self, x, y):
        s = self.score(x)[0]
        x, y = extended(x, self.intercept), sign_of(y)
        if y * s > 0.0:
            return
        both = [*x, *(-u for u in x)]
        logs = [math.log(q) + self.eta * y * u for q, u in zip(self.p, both, strict=True)]
        logs = [max(-500.0, min(500.0, v)) for v in logs]
        weights = [math.exp(v - max(logs)) for v in logs]
        p = [w / sum(weights) for w in weights]
        p = [max(q, self.share / len(p), 1e-300) for q in p]
        self.p = [q / sum(p) for q in p]
