"""Beta-Bernoulli, a Kalman filter of weights, and probit regression by moment matching.

See docs/algorithms/bayesian.md#bayesian-learners.
"""

from __future__ import annotations

from math import erfc, exp, inf, log, pi, sqrt

from tests.support.oracle.protocol import extended, inner, sign_of


class BetaBernoulli:
    def __init__(self, n_features, n_classes, kind, a0=1.0, b0=1.0, decay=1.0):
        self.prior, self.decay = {1.0: a0, 0.0: b0}, decay
        self.seen = []

    def count(self, label):
        """The prior plus the rows of a class, each row faded by the rows after it."""
        total = self.prior[label]
        for age, y in enumerate(reversed(self.seen)):
            total += self.decay**age * (y == label)
        return total

    def score(self, x):
        return [log(self.count(1.0) / self.count(0.0))]

    def learn(self, x, y):
        self.seen.append(y)


class BayesLinear:
    def __init__(self, n_features, n_classes, kind, noise_var=1.0, prior_var=1.0, q=0.0, p_max=0.0, intercept=True):
        d = n_features + intercept
        self.kind, self.noise, self.q, self.intercept = kind, noise_var, q, intercept
        self.p_max = p_max or inf
        self.w = [0.0] * d
        self.P = [[prior_var if i == j else 0.0 for j in range(d)] for i in range(d)]

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x = extended(x, self.intercept)
        y = sign_of(y) if self.kind == "binary" else y
        k = [inner(row, x) for row in self.P]
        S = self.noise + inner(x, k)
        e = y - inner(self.w, x)
        self.w = [w + g * e / S for w, g in zip(self.w, k, strict=True)]
        self.lower(k, 1.0 / S)
        for i in range(len(x)):
            self.P[i][i] += self.q
        for j in range(len(x)):
            if self.P[j][j] > self.p_max:
                c = 1.0 / self.p_max - 1.0 / self.P[j][j]
                self.lower([row[j] for row in self.P], c / (1.0 + c * self.P[j][j]))

    def lower(self, k, share):
        for i in range(len(k)):
            for j in range(i, len(k)):
                self.P[i][j] = self.P[j][i] = self.P[i][j] - share * k[i] * k[j]


class BayesProbit:
    def __init__(self, n_features, n_classes, kind, beta=1.0, prior_var=1.0, q=1e-4, cov="auto", intercept=True):
        d = n_features + intercept
        self.beta, self.a, self.q, self.intercept = beta, prior_var, q, intercept
        self.full = d <= 256 if cov == "auto" else cov == "full"
        self.mu = [0.0] * d
        self.sigma = [[prior_var if i == j else 0.0 for j in range(d)] for i in range(d)]

    def spread(self, x):
        return sqrt(self.beta**2 + inner(x, [inner(row, x) for row in self.sigma]))

    def score(self, x):
        x = extended(x, self.intercept)
        return [inner(self.mu, x) / self.spread(x)]

    def learn(self, x, y):
        s, Xi = self.score(x)[0], self.spread(extended(x, self.intercept))
        x, y = extended(x, self.intercept), sign_of(y)
        u = y * s
        V = -u - 1.0 / u if u < -30.0 else exp(-(u**2) / 2.0) / sqrt(2.0 * pi) / (erfc(-u / sqrt(2.0)) / 2.0)
        W = min(1.0, max(0.0, V * (V + u)))
        k = [inner(row, x) for row in self.sigma]
        self.mu = [m + y * V * g / Xi for m, g in zip(self.mu, k, strict=True)]
        for i in range(len(x)):
            for j in range(len(x)):
                if self.full:
                    self.sigma[i][j] -= W / Xi**2 * k[i] * k[j]
                elif i == j:
                    self.sigma[i][i] *= 1.0 - self.sigma[i][i] * x[i] ** 2 * W / Xi**2
        for i in range(len(x)):
            self.sigma[i][i] += min(self.q, max(0.0, self.a - self.sigma[i][i]))
