"""docs/algorithms/second_order.md#second-order-learners (arow) with 1.12 (drift) and 1.13 (covariance form)."""

from __future__ import annotations

from tests.support.oracle.protocol import extended, inner, sign_of


class AROW:
    def __init__(self, n_features, n_classes, kind, r=1.0, a=1.0, cov="auto", q=0.0, intercept=True):
        d = n_features + intercept
        self.r, self.a, self.q, self.intercept = r, a, q, intercept
        self.full = d <= 256 if cov == "auto" else cov == "full"
        self.mu = [0.0] * d
        self.sigma = [[a if i == j else 0.0 for j in range(d)] for i in range(d)]

    def score(self, x):
        return [inner(self.mu, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        d = len(x)
        k = [inner(self.sigma[i], x) for i in range(d)]
        v = inner(x, k)
        m = y * inner(self.mu, x)
        if m < 1.0 and v > 1e-12:
            beta = 1.0 / (v + self.r)
            alpha = (1.0 - m) * beta
            self.mu = [self.mu[i] + alpha * y * k[i] for i in range(d)]
            for i in range(d):
                for j in range(d):
                    if self.full:
                        self.sigma[i][j] -= beta * (k[i] * k[j])
                    elif i == j:
                        self.sigma[i][i] = 1.0 / (1.0 / self.sigma[i][i] + x[i] ** 2 / self.r)
        for i in range(d):
            self.sigma[i][i] += min(self.q, max(0.0, self.a - self.sigma[i][i]))
