"""Second-order learners that sum rows or cut an ellipsoid: sop, narow, iellip.

See docs/algorithms/second_order.md#second-order-learners.
"""

from __future__ import annotations

from math import inf, sqrt

from tests.support.oracle.protocol import extended, inner, sign_of


def scaled_identity(d, a):
    return [[a if i == j else 0.0 for j in range(d)] for i in range(d)]


def shrunk(sigma, x, full, share, kappa):
    """Sigma - share k k'; in the diagonal form, Sigma with kappa x_j^2 added to its inverse."""
    d, k = len(x), [inner(row, x) for row in sigma]
    if full:
        return [[sigma[i][j] - share * k[i] * k[j] for j in range(d)] for i in range(d)]
    return [[1.0 / (1.0 / sigma[i][i] + kappa * x[i] ** 2) if i == j else 0.0 for j in range(d)] for i in range(d)]


def inflated(sigma, q, start):
    d = len(sigma)
    return [
        [sigma[i][j] + (min(q, max(0.0, start - sigma[i][i])) if i == j else 0.0) for j in range(d)] for i in range(d)
    ]


class SOP:
    def __init__(self, n_features, n_classes, kind, a=1.0, cov="auto", q=0.0, intercept=True):
        d = n_features + intercept
        self.start, self.q, self.intercept, self.full = 1.0 / a, q, intercept, cov != "diag"
        self.vec, self.sigma = [0.0] * d, scaled_identity(d, 1.0 / a)

    def score(self, x):
        x = extended(x, self.intercept)
        w = [inner(row, self.vec) for row in self.sigma]
        return [inner(w, x) / (1.0 + inner(x, [inner(row, x) for row in self.sigma]))]

    def learn(self, x, label):
        y, s = sign_of(label), self.score(x)[0]
        x = extended(x, self.intercept)
        v = inner(x, [inner(row, x) for row in self.sigma])
        if y * s <= 0.0 and v > 1e-12:
            self.sigma = shrunk(self.sigma, x, self.full, 1.0 / (1.0 + v), 1.0)
            self.vec = [p + y * g for p, g in zip(self.vec, x, strict=True)]
        self.sigma = inflated(self.sigma, self.q, self.start)


class NAROW:
    def __init__(self, n_features, n_classes, kind, b=1.0, variant="hybrid", a=1.0, cov="auto", q=0.0, intercept=True):
        d = n_features + intercept
        self.a, self.b, self.q, self.intercept = a, b, q, intercept
        self.full, self.hybrid = cov != "diag", variant == "hybrid"
        self.theta, self.sigma = [0.0] * d, scaled_identity(d, a)

    def score(self, x):
        x = extended(x, self.intercept)
        return [inner(self.theta, [inner(row, x) for row in self.sigma] if self.hybrid else x)]

    def learn(self, x, label):
        y, s = sign_of(label), self.score(x)[0]
        x = extended(x, self.intercept)
        k = [inner(row, x) for row in self.sigma]
        v = inner(x, k)
        if 1.0 - y * s > 0.0 and v > 1e-12:
            r = v / (self.b * v - 1.0) if v > 1.0 / self.b else inf
            if self.hybrid:
                self.theta = [p + y * g for p, g in zip(self.theta, x, strict=True)]
            else:
                self.theta = [p + (1.0 - y * s) / (v + r) * y * g for p, g in zip(self.theta, k, strict=True)]
            if r < inf:
                self.sigma = shrunk(self.sigma, x, self.full, 1.0 / (v + r), 1.0 / r)
        self.sigma = inflated(self.sigma, self.q, self.a)


class IELLIP:
    def __init__(self, n_features, n_classes, kind, c=0.1, b=0.3, margin=1.0, a=1.0, cov="auto", intercept=True):
        d = n_features + intercept
        self.c, self.b, self.margin, self.intercept, self.full = c, b, margin, intercept, cov != "diag"
        self.mistakes, self.w, self.sigma = 0, [0.0] * d, scaled_identity(d, a)

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, label):
        y, s = sign_of(label), self.score(x)[0]
        x = extended(x, self.intercept)
        d, k = len(x), [inner(row, x) for row in self.sigma]
        v = inner(x, k)
        if y * s > 0.0 or v <= 1e-12:
            return
        alpha, g = (self.margin - y * s) / sqrt(v), [y * p / sqrt(v) for p in k]
        self.w = [p + alpha * q for p, q in zip(self.w, g, strict=True)]
        ct = self.c * self.b**self.mistakes
        for i in range(d):
            for j in range(d):
                if self.full or i == j:
                    self.sigma[i][j] = (self.sigma[i][j] - ct * g[i] * g[j]) / (1.0 - ct)
        self.mistakes += 1
