"""docs/algorithms/linear.md#linear-learners: Winnow with separate positive and negative weights, and Winnow2."""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of


class Winnow:
    def __init__(
        self, n_features, n_classes, kind, eta=0.1, balanced=True, normalize=True, U=10.0, theta=1.0, intercept=True
    ):
        self.eta, self.balanced, self.normalize, self.U, self.theta = eta, balanced, normalize, U, theta
        self.intercept = intercept
        self.lp, self.ln = [0.0] * (n_features + intercept), [0.0] * (n_features + intercept)

    def score(self, x):
        x = extended(x, self.intercept)
        positive = [math.exp(v) for v in self.lp]
        if not self.balanced:
            return [inner(positive, x) - self.theta * len(x)]
        negative = [math.exp(v) for v in self.ln]
        total = sum(positive) + sum(negative)
        size = self.U / total if self.normalize else 1.0
        return [size * (inner(positive, x) - inner(negative, x))]

    def learn(self, x, y):
        s = self.score(x)[0]
        x, y = extended(x, self.intercept), sign_of(y)
        if y * s > 0.0:
            return
        eta = self.eta if self.balanced else math.log(2.0)
        self.lp = [max(-500.0, min(500.0, v + eta * y * u)) for v, u in zip(self.lp, x, strict=True)]
        self.ln = [max(-500.0, min(500.0, v - eta * y * u)) for v, u in zip(self.ln, x, strict=True)]
