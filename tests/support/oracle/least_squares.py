"""Least squares with forgetting, in the G-DFOP scaling, with the wind-up guard.

See docs/algorithms/least_squares.md#least-squares-with-forgetting.
"""

from __future__ import annotations

from tests.support.oracle.drift import DDM
from tests.support.oracle.protocol import extended, inner, sign_of


class DFOP:
    def __init__(self, n_features, n_classes, kind, mu=0.005, delta=1.0, p_max=1e4, intercept=True):
        d = n_features + intercept
        self.kind, self.forgetting, self.p_max, self.intercept = kind, 1.0 - mu, p_max, intercept
        self.w = [0.0] * d
        self.P = [[1.0 / delta if i == j else 0.0 for j in range(d)] for i in range(d)]

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x = extended(x, self.intercept)
        y = sign_of(y) if self.kind == "binary" else y
        d = len(x)
        k = [inner(self.P[i], x) for i in range(d)]
        h = self.forgetting + inner(x, k)
        e = y - inner(self.w, x)
        self.w = [self.w[i] + k[i] * e / h for i in range(d)]
        for i in range(d):
            for j in range(i, d):
                self.P[i][j] = self.P[j][i] = (self.P[i][j] - k[i] * k[j] / h) / self.forgetting
        for j in range(d):
            if self.P[j][j] > self.p_max:
                self.guard(j)

    def guard(self, j):
        d = len(self.w)
        c = 1.0 / self.p_max - 1.0 / self.P[j][j]
        column = [self.P[i][j] for i in range(d)]
        for i in range(d):
            for m in range(i, d):
                lower = c / (1.0 + c * column[j]) * column[i] * column[m]
                self.P[i][m] = self.P[m][i] = self.P[i][m] - lower


class GDFOP(DFOP):
    def __init__(
        self, n_features, n_classes, kind, lambda_source="const", mu=0.005, column=0, detector="ddm", mu_high=0.05,
        boost_len=100, N0=200.0, lambda_min=0.9, delta=1.0, p_max=1e4, intercept=True,
    ):  # fmt: skip
        super().__init__(n_features - (lambda_source == "field"), n_classes, kind, mu, delta, p_max, intercept)
        self.source, self.mu, self.column = lambda_source, mu, column
        self.mu_high, self.boost_len, self.N0, self.lambda_min = mu_high, boost_len, N0, lambda_min
        self.t, self.variance = 0, 0.0
        self.detector, self.boosted_until, self.alarms = DDM(), 0, []

    def features(self, x):
        return [v for j, v in enumerate(x) if j != self.column] if self.source == "field" else x

    def score(self, x):
        return super().score(self.features(x))

    def learn(self, x, y):
        self.t += 1
        s = self.score(x)[0]
        self.forgetting = self.factor(x, y, s)
        super().learn(self.features(x), y)
        if self.source == "detector" and self.detector.update((s >= 0) != (y == 1.0)) == "drift":
            self.alarms.append(self.t)
            self.boosted_until = self.t + self.boost_len

    def factor(self, x, y, s):
        if self.source == "harmonic":
            return 1.0 - max(self.mu, 1.0 / (self.t + 1))
        if self.source == "field":
            return max(x[self.column], 1e-6) if 0.0 < x[self.column] <= 1.0 else 1.0 - self.mu
        if self.source == "detector":
            return 1.0 - (self.mu_high if self.t <= self.boosted_until else self.mu)
        if self.source == "fortescue":
            return self.fortescue(extended(x, self.intercept), (sign_of(y) if self.kind == "binary" else y) - s)
        return 1.0 - self.mu

    def fortescue(self, x, e):
        self.variance += (e * e - self.variance) * max(1.0 / self.t, 1e-3)
        if self.variance == 0.0:
            return 1.0
        v = inner(x, [inner(row, x) for row in self.P])
        return min(1.0, max(self.lambda_min, 1.0 - e * e / ((1.0 + v) * self.N0 * self.variance)))


class RLS(DFOP):
    def __init__(self, n_features, n_classes, kind, delta=1.0, intercept=True):
        super().__init__(n_features, n_classes, kind, 0.0, delta, float("inf"), intercept)
