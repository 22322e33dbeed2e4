"""Learners that keep a Gaussian over weights, by the published formulas.

See docs/algorithms/second_order.md#second-order-learners.

With 1.12 (drift) and 1.13 (covariance form). Each computes two scalars of a row: alpha, and the kappa that is added
to the inverse covariance.
"""

from __future__ import annotations

from math import inf, sqrt
from statistics import NormalDist

from tests.support.oracle.protocol import extended, inner, sign_of


class Gaussian:
    def __init__(self, n_features, a=1.0, cov="auto", q=0.0, intercept=True):
        d = n_features + intercept
        self.a, self.q, self.intercept = a, q, intercept
        self.full = d <= 256 if cov == "auto" else cov == "full"
        self.mu = [0.0] * d
        self.sigma = [[a if i == j else 0.0 for j in range(d)] for i in range(d)]

    def scalars(self, m, v):
        """(alpha, kappa) of a row with margin m and variance v."""
        raise NotImplementedError

    def score(self, x):
        return [inner(self.mu, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        k = [inner(row, x) for row in self.sigma]
        v = inner(x, k)
        if v > 1e-12:
            alpha, kappa = self.scalars(y * inner(self.mu, x), v)
            if alpha > 0.0:
                self.mu = [m + alpha * y * g for m, g in zip(self.mu, k, strict=True)]
                self.narrow(x, k, v, kappa)
        for i in range(len(x)):
            self.sigma[i][i] += min(self.q, max(0.0, self.a - self.sigma[i][i]))

    def narrow(self, x, k, v, kappa):
        for i in range(len(x)):
            for j in range(len(x)):
                if self.full:
                    self.sigma[i][j] -= kappa / (1.0 + kappa * v) * k[i] * k[j]
                elif i == j:
                    self.sigma[i][i] = 1.0 / (1.0 / self.sigma[i][i] + kappa * x[i] ** 2)


class CW(Gaussian):
    def __init__(self, n_features, n_classes, kind, eta=0.7, **rest):
        super().__init__(n_features, **rest)
        self.phi = NormalDist().inv_cdf(eta)

    def scalars(self, m, v):
        phi = self.phi
        radicand = (1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v)
        gamma = (-(1 + 2 * phi * m) + sqrt(max(0.0, radicand))) / (4 * phi * v)
        alpha = max(gamma, 0.0)
        return alpha, 2 * alpha * phi


class CWStdev(Gaussian):
    def __init__(self, n_features, n_classes, kind, eta=0.7, C=inf, **rest):
        super().__init__(n_features, **rest)
        self.phi, self.C = NormalDist().inv_cdf(eta), C

    def alpha(self, m, v):
        phi = self.phi
        psi, xi = 1 + phi**2 / 2, 1 + phi**2
        return max(0.0, (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi))

    def scalars(self, m, v):
        phi = self.phi
        if phi * sqrt(v) - m <= 0:
            return 0.0, 0.0
        alpha = min(self.C, self.alpha(m, v))
        root_u = (-alpha * v * phi + sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        beta = alpha * phi / (root_u + v * alpha * phi)
        return alpha, beta / (1 - beta * v)  # full forms shrink by beta


class SCW1(CWStdev):
    def __init__(self, n_features, n_classes, kind, eta=0.75, C=1.0, **rest):
        super().__init__(n_features, n_classes, kind, eta, C, **rest)


class SCW2(CWStdev):
    def __init__(self, n_features, n_classes, kind, eta=0.75, C=1.0, **rest):
        super().__init__(n_features, n_classes, kind, eta, **rest)
        self.half = 1 / (2 * C)

    def alpha(self, m, v):
        phi, n = self.phi, v + self.half
        gamma = phi * sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        return max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))


class NHERD(Gaussian):
    def __init__(self, n_features, n_classes, kind, C=0.1, **rest):
        super().__init__(n_features, **rest)
        self.C = C

    def scalars(self, m, v):
        C = self.C
        if m >= 1:
            return 0.0, 0.0
        kappa = 2 * C + C**2 * v
        if self.full:
            share = (C**2 * v + 2 * C) / (1 + C * v) ** 2
            kappa = share / (1 - share * v)
        return (1 - m) / (v + 1 / C), kappa


class AROWRegressor(Gaussian):
    def __init__(self, n_features, n_classes, kind, r=1.0, **rest):
        super().__init__(n_features, **rest)
        self.r, self.kind = r, kind

    def learn(self, x, y):
        x = extended(x, self.intercept)
        target = y if self.kind == "regression" else sign_of(y)
        k = [inner(row, x) for row in self.sigma]
        v = inner(x, k)
        e = target - inner(self.mu, x)
        if v > 1e-12:
            self.mu = [m + e / (v + self.r) * g for m, g in zip(self.mu, k, strict=True)]
            self.narrow(x, k, v, 1 / self.r)
        for i in range(len(x)):
            self.sigma[i][i] += min(self.q, max(0.0, self.a - self.sigma[i][i]))
