"""docs/algorithms/linear.md#linear-learners: perceptron and PA-I."""

from __future__ import annotations

from tests.support.oracle.protocol import extended, inner, sign_of


class Perceptron:
    def __init__(self, n_features, n_classes, kind, eta=1.0, ties="update", intercept=True):
        self.eta, self.ties, self.intercept = eta, ties, intercept
        self.w = [0.0] * (n_features + intercept)

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        s = inner(self.w, x)
        predicted = 1.0 if s >= 0 else -1.0
        mistake = y * s <= 0 if self.ties == "update" else predicted != y
        if mistake:
            self.w = [w + self.eta * y * v for w, v in zip(self.w, x, strict=True)]


class PA1:
    def __init__(self, n_features, n_classes, kind, C=0.1, intercept=True):
        self.C, self.intercept = C, intercept
        self.w = [0.0] * (n_features + intercept)

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        loss = max(0.0, 1.0 - y * inner(self.w, x))
        x2 = inner(x, x)
        if loss == 0.0 or x2 == 0.0:
            return
        tau = min(self.C, loss / x2)
        self.w = [w + tau * y * v for w, v in zip(self.w, x, strict=True)]
