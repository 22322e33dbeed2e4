"""docs/algorithms/linear.md#linear-learners: PA and PA-II; PA-I is in `linear`."""

from __future__ import annotations

from tests.support.oracle.protocol import extended, inner, sign_of


class PA:
    def __init__(self, n_features, n_classes, kind, intercept=True):
        self.intercept = intercept
        self.w = [0.0] * (n_features + intercept)

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def tau(self, loss, x2):
        return loss / x2

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        loss = max(0.0, 1.0 - y * inner(self.w, x))
        x2 = inner(x, x)
        if loss == 0.0 or x2 == 0.0:
            return
        self.w = [w + self.tau(loss, x2) * y * v for w, v in zip(self.w, x, strict=True)]


class PA2(PA):
    def __init__(self, n_features, n_classes, kind, C=0.01, intercept=True):
        super().__init__(n_features, n_classes, kind, intercept)
        self.C = C

    def tau(self, loss, x2):
        return loss / (x2 + 1.0 / (2.0 * self.C))


class Regressor:
    def __init__(self, n_features, n_classes, kind, eps=0.1, C=1.0, intercept=True):
        self.eps, self.C, self.intercept = eps, C, intercept
        self.w = [0.0] * (n_features + intercept)

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x = extended(x, self.intercept)
        s, x2 = inner(self.w, x), inner(x, x)
        loss = max(0.0, abs(y - s) - self.eps)
        if loss > 0.0 and x2 > 0.0:
            sign = 1.0 if y > s else -1.0
            self.w = [w + sign * self.tau(loss, x2) * v for w, v in zip(self.w, x, strict=True)]

    def tau(self, loss, x2):
        return loss / x2


class Regressor1(Regressor):
    def tau(self, loss, x2):
        return min(self.C, loss / x2)


class Regressor2(Regressor):
    def tau(self, loss, x2):
        return loss / (x2 + 1.0 / (2.0 * self.C))
