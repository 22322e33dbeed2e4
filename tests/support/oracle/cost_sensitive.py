"""Csogd1, csogd2, acog, with drift, in both covariance forms.

See docs/algorithms/imbalanced.md#imbalanced-classes.
"""

from __future__ import annotations

from tests.support.oracle.protocol import extended, inner, sign_of


class Imbalance:
    def __init__(self, objective="sum", eta_p=0.5, eta_n=0.5, c_p=0.95, c_n=0.05):
        self.objective, self.eta_p, self.eta_n, self.c_p, self.c_n = objective, eta_p, eta_n, c_p, c_n
        self.T = {-1.0: 1, 1.0: 1}

    def rho(self, y):
        """Count a row with label y and return its rho_t."""
        self.T[y] += 1
        if y < 0:
            return 1.0
        if self.objective == "cost":
            return self.c_p / self.c_n
        return self.eta_p * self.T[-1.0] / (self.eta_n * self.T[1.0])


class CSOGD1:
    eta = 0.1

    def __init__(self, n_features, n_classes, kind, eta=None, intercept=True, **objective):
        self.eta = eta or self.eta
        self.intercept = intercept
        self.w = [0.0] * (n_features + intercept)
        self.imbalance = Imbalance(**objective)

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def step(self, margin, rho):
        return self.eta if margin < rho else 0.0

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        step = self.step(y * inner(self.w, x), self.imbalance.rho(y))
        self.w = [w + step * y * v for w, v in zip(self.w, x, strict=True)]


class CSOGD2(CSOGD1):
    eta = 0.01

    def step(self, margin, rho):
        return self.eta * rho if margin < 1.0 else 0.0


class ACOG:
    def __init__(
        self,
        n_features,
        n_classes,
        kind,
        loss="II",
        eta=1.0,
        gamma=10.0,
        a=1.0,
        cov="auto",
        q=0.0,
        intercept=True,
        **objective,
    ):
        d = n_features + intercept
        self.loss, self.eta, self.gamma, self.a, self.q, self.intercept = loss, eta, gamma, a, q, intercept
        self.full = d <= 256 if cov == "auto" else cov == "full"
        self.mu = [0.0] * d
        self.sigma = [[a if i == j else 0.0 for j in range(d)] for i in range(d)]
        self.imbalance = Imbalance(**objective)

    def score(self, x):
        return [inner(self.mu, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        rho = self.imbalance.rho(y)
        margin = y * inner(self.mu, x)
        suffers = margin < rho if self.loss == "I" else margin < 1.0
        c = 1.0 if self.loss == "I" else rho
        k = [inner(row, x) for row in self.sigma]
        v = inner(x, k)
        if suffers and v > 1e-12:
            for i in range(len(x)):
                for j in range(len(x)):
                    if self.full:
                        self.sigma[i][j] -= k[i] * k[j] / (self.gamma + v)
                    elif i == j:
                        self.sigma[i][i] = 1.0 / (1.0 / self.sigma[i][i] + x[i] ** 2 / self.gamma)
            # As published, with the new Sigma; the diagonal form uses what the full form gives for the old Sigma.
            full = [inner(row, x) for row in self.sigma]
            along = full if self.full else [g * self.gamma / (self.gamma + v) for g in k]
            self.mu = [m + self.eta * c * y * g for m, g in zip(self.mu, along, strict=True)]
        for i in range(len(x)):
            self.sigma[i][i] += min(self.q, max(0.0, self.a - self.sigma[i][i]))
