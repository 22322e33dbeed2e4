"""docs/algorithms/other_tasks.md#other-tasks in plain Python: series, parts of rows, and few labels."""

from __future__ import annotations

import math

import numpy as np

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


class Series:
    """Keeps all targets; values are their D-th differences, which start after the first D targets.

    From the 31st on, values beyond 30 sigma are not learned from: sigma clips them, the lags use the forecast instead.
    """

    def __init__(self, lags=10, radius=1.0, eta=0.1, diff=0):
        self.lags, self.c, self.eta, self.D = lags, radius, eta, diff
        self.gamma = np.zeros(lags)
        self.targets, self.stand, self.bounded = [], [], []

    def h(self):
        newest_first = self.stand[::-1][: self.lags]
        return np.array(newest_first + [0.0] * (self.lags - len(newest_first)))

    def sigma(self):
        sigma = math.sqrt(np.mean(np.square(self.bounded))) if self.bounded else 0.0
        return sigma if sigma > 0 else 1.0

    def levels(self):
        return sum(np.diff(self.targets, k)[-1] for k in range(self.D) if len(self.targets) > k)

    def score(self, x):
        return [float(self.gamma @ self.h() + self.levels())]

    def cache(self, x):
        return self.h(), self.levels(), len(self.targets)

    def learn(self, x, y):
        self.learn_late(x, y, self.cache(x))

    def learn_late(self, x, y, cached):
        h, levels, count = cached
        if len(self.targets) > self.D and abs(y - levels) <= self.largest():
            u = h / self.sigma()
            omega = 1 / (1 + len(self.targets) - count)
            self.step(u, float(self.gamma @ u) - (y - levels) / self.sigma(), omega)
            self.gamma = np.clip(self.gamma, -self.c, self.c)
        if len(self.targets) >= self.D:
            self.take(np.diff([*self.targets, y], self.D)[-1])
        self.targets.append(y)

    def largest(self):
        return 30 * self.sigma() if len(self.bounded) >= 30 and any(self.bounded) else math.inf

    def take(self, value):
        largest = self.largest()
        kept = value if abs(value) <= largest else np.clip(self.gamma @ self.h(), -largest, largest)
        self.stand.append(kept)
        self.bounded.append(np.clip(value, -largest, largest))


class OGD(Series):
    def __init__(self, n_features, n_classes, kind, schedule="inv_sqrt", **given):
        super().__init__(**given)
        self.power = {"const": 0.0, "inv_sqrt": 0.5, "inv_t": 1.0}[schedule]

    def step(self, u, e, omega):
        if u.any():
            step = min(self.eta / (len(self.stand) + 1) ** self.power, 0.5 / (u @ u))
            self.gamma = self.gamma - omega * step * 2 * e * u


class ONS(Series):
    def __init__(self, n_features, n_classes, kind, eta=1.0, **given):
        super().__init__(eta=eta, **given)
        self.A = np.eye(self.lags) / self.c**2

    def step(self, u, e, omega):
        self.A = self.A + omega * 4 * e * e * np.outer(u, u)
        self.gamma = self.gamma - np.linalg.solve(self.A, omega * 2 * e * u) / self.eta


class Gap:
    def __init__(
        self, n_features, n_classes, kind, particles=500, kappa=0.1, e=0.05, prior_var=1, q=1e-3, seed=1, intercept=True
    ):
        self.kappa, self.e, self.q, self.intercept, self.rng = kappa, e, q, intercept, Xoshiro(seed)
        d = n_features + intercept
        self.W = [[math.sqrt(prior_var) * self.rng.normal() for _ in range(d)] for _ in range(particles)]
        self.trust = [1 / particles] * particles

    def L(self, m):
        if m >= 1:
            return 1 - self.e
        return self.e if m <= -1 else self.e + (1 - 2 * self.e) * (m + 1) / 2

    def margins(self, x):
        return [inner(w, extended(x, self.intercept)) for w in self.W]

    def score(self, x):
        p = sum(v * self.L(m) for v, m in zip(self.trust, self.margins(x), strict=True))
        return [math.log(p / (1 - p))]

    def learn(self, x, y):
        self.believe([self.L(sign_of(y) * m) for m in self.margins(x)])

    def learn_unlabelled(self, x):
        self.believe([1 - self.kappa if abs(m) < 1 else 1.0 for m in self.margins(x)])

    def believe(self, likelihoods):
        n = len(self.W)
        trust = [v * one for v, one in zip(self.trust, likelihoods, strict=True)]
        self.trust = [v / sum(trust) for v in trust]
        if 1 / sum(v * v for v in self.trust) < n / 2:
            u, ends = self.rng.uniform(), np.cumsum(self.trust)
            drawn = [min(int(np.searchsorted(ends, (u + i) / n)), n - 1) for i in range(n)]
            self.W, self.trust = [list(self.W[i]) for i in drawn], [1 / n] * n
        if self.q > 0:
            self.W = [[v + math.sqrt(self.q) * self.rng.normal() for v in w] for w in self.W]


class NMF:
    def __init__(self, n_features, n_classes, kind, rank=10, inner=20, forget=1.0, seed=1):
        self.r, self.inner, self.forget, rng = rank, inner, forget, Xoshiro(seed)
        columns = [np.array([rng.uniform() for _ in range(n_features)]) for _ in range(rank)]
        self.D = np.column_stack([column / np.linalg.norm(column) for column in columns])
        self.A, self.B = np.zeros((rank, rank)), np.zeros((n_features, rank))

    def shares(self, x):
        h = np.zeros(self.r)
        for _ in range(self.inner):
            for j in range(self.r):
                D_j = self.D[:, j]
                if D_j @ D_j >= 1e-12:
                    h[j] = max(0.0, h[j] + D_j @ (x - self.D @ h) / (D_j @ D_j))
        return h

    def score(self, x):
        return [-float(((np.array(x) - self.D @ self.shares(x)) ** 2).sum())]

    def learn(self, x, y):
        if min(x) < 0:
            return
        h = self.shares(x)
        self.A = self.forget * self.A + np.outer(h, h)
        self.B = self.forget * self.B + np.outer(x, h)
        for j in range(self.r):
            if self.A[j, j] >= 1e-12:
                moved = np.maximum(0, self.D[:, j] + (self.B[:, j] - self.D @ self.A[:, j]) / self.A[j, j])
                self.D[:, j] = moved / max(1.0, np.linalg.norm(moved))


class OMR:
    def __init__(self, n_features, n_classes, kind, tau=300, gamma=0.0, eta=0.1, lam1=0.01, lam2=1.0):
        self.tau, self.gamma, self.eta, self.lam1, self.lam2 = tau, gamma or 1 / n_features, eta, lam1, lam2
        self.rows, self.a = [], np.zeros(0)

    def kernel(self, x, gamma):
        """Kernel values of x with all rows."""
        return np.exp(-gamma * ((np.array(self.rows) - x) ** 2).sum(axis=1)) if self.rows else np.zeros(0)

    def f(self, x):
        return float(self.kernel(x, self.gamma) @ self.a)

    def score(self, x):
        return [self.f(x)]

    def learn(self, x, y):
        self.take(x, self.eta * sign_of(y) if sign_of(y) * self.f(x) < 1 else 0.0)

    def learn_unlabelled(self, x):
        self.take(x, 0.0)

    def take(self, x, own):
        above = np.array([self.f(z) - self.f(x) for z in self.rows])
        pull = 2 * self.eta * self.lam2 / max(1, len(self.rows)) * above * self.kernel(x, 10 * self.gamma)
        self.a = np.append((1 - self.eta * self.lam1) * self.a - pull, own + pull.sum())[-self.tau :]
        self.rows = [*self.rows, list(x)][-self.tau :]
