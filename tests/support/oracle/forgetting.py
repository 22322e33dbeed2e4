"""ALGORITHMS.md 11: least squares with forgetting, in the G-DFOP scaling, with the wind-up guard."""

from __future__ import annotations

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


class RLS(DFOP):
    def __init__(self, n_features, n_classes, kind, delta=1.0, intercept=True):
        super().__init__(n_features, n_classes, kind, 0.0, delta, float("inf"), intercept)
