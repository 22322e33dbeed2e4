"""docs/algorithms/other_tasks.md#other-tasks in plain Python: ratings, triplets, pairs, several tasks."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


def known(value, count):
    """The value as an id, or None if it is not one of 0..count - 1."""
    return int(value) if value in range(count) else None


class OnlineMF:
    def __new__(cls, n_features, n_classes, kind, mode="factors", **given):
        return Factors(**given) if mode == "factors" else Coclusters(**given)


class Factors:
    def __init__(self, rank=10, eta=0.05, reg=0.02, seed=1, max_users=10_000, max_items=10_000):
        self.eta, self.reg = eta, reg
        draw = Xoshiro(seed)
        self.U = [[0.1 * draw.normal() for _ in range(rank)] for _ in range(max_users)]
        self.V = [[0.1 * draw.normal() for _ in range(rank)] for _ in range(max_items)]
        self.b, self.c = [0.0] * max_users, [0.0] * max_items
        self.ratings = []

    def ids(self, x):
        return known(x[0], len(self.U)), known(x[1], len(self.V))

    def score(self, x):
        u, i = self.ids(x)
        mean = sum(self.ratings) / len(self.ratings) if self.ratings else 0.0
        if u is None or i is None:
            return [mean]
        return [mean + self.b[u] + self.c[i] + inner(self.U[u], self.V[i])]

    def learn(self, x, y):
        u, i = self.ids(x)
        if u is None or i is None:
            return
        e = y - self.score(x)[0]
        self.b[u] += self.eta * (e - self.reg * self.b[u])
        self.c[i] += self.eta * (e - self.reg * self.c[i])
        user = [a + self.eta * (e * b - self.reg * a) for a, b in zip(self.U[u], self.V[i], strict=True)]
        item = [b + self.eta * (e * a - self.reg * b) for a, b in zip(self.U[u], self.V[i], strict=True)]
        self.U[u], self.V[i] = self.held(user), self.held(item)
        self.ratings.append(y)

    def held(self, factors):
        size = math.sqrt(sum(a * a for a in factors))
        return [a * min(1.0, 1 / (math.sqrt(self.eta) * size)) for a in factors] if size else factors


class Coclusters:
    """Sums and counts per user, item, cluster of either, pair of clusters, and of all ratings."""

    def __init__(self, max_users=10_000, max_items=10_000, G=3, H=3, hist=20, every=10):
        self.users, self.items, self.G, self.H, self.hist, self.every = max_users, max_items, G, H, hist, every
        self.g, self.h, self.of_user, self.of_item = {}, {}, {}, {}
        self.sums = defaultdict(lambda: [0.0, 0])

    def ids(self, x):
        return known(x[0], self.users), known(x[1], self.items)

    def mean(self, *of):
        total, count = self.sums[of] if self.sums[of][1] else self.sums[()]
        return total / count if count else 0.0

    def value(self, u, i, g, h):
        if g is None and h is None:
            return self.mean()
        if g is None or h is None:
            return self.mean("user", u) if h is None else self.mean("item", i)
        corrected = self.mean("user", u) - self.mean("g", g) + self.mean("item", i) - self.mean("h", h)
        return self.mean("block", g, h) + corrected

    def score(self, x):
        u, i = self.ids(x)
        return [self.value(u, i, self.g.get(u), self.h.get(i))]

    def learn(self, x, y):
        u, i = self.ids(x)
        if u is None or i is None:
            return
        g, h = self.g.setdefault(u, u % self.G), self.h.setdefault(i, i % self.H)
        for of in (("user", u), ("item", i), ("g", g), ("h", h), ("block", g, h), ()):
            self.sums[of][0] += y
            self.sums[of][1] += 1
        of_user, of_item = self.of_user.setdefault(u, []), self.of_item.setdefault(i, [])
        of_user.append((i, y))
        of_item.append((u, y))
        if len(of_user) % self.every == 0:
            values = [[self.value(u, j, c, self.h[j]) - r for j, r in of_user[-self.hist :]] for c in range(self.G)]
            self.g[u] = first_least(values)
        if len(of_item) % self.every == 0:
            values = [[self.value(v, i, self.g[v], c) - r for v, r in of_item[-self.hist :]] for c in range(self.H)]
            self.h[i] = first_least(values)


def first_least(errors):
    """Index of the least sum of squares; the first one if sums differ only by rounding."""
    sums = [sum(e * e for e in one) for one in errors]
    return next(c for c, one in enumerate(sums) if one <= min(sums) * (1 + 1e-9) + 1e-12)


class OASIS:
    def __init__(self, n_features, n_classes, kind, C=0.1):
        self.C, self.d = C, n_features // 3
        self.W = np.eye(self.d)

    def parts(self, x):
        p, near, far = np.reshape(x, (3, self.d))
        return p, near - far

    def score(self, x):
        p, apart = self.parts(x)
        return [float(p @ self.W @ apart)]

    def learn(self, x, y):
        p, apart = self.parts(x)
        V = np.outer(p, apart)
        if (V**2).sum() > 0:
            self.W = self.W + min(self.C, max(0.0, 1 - self.score(x)[0]) / (V**2).sum()) * V


class RDML:
    def __init__(self, n_features, n_classes, kind, b=1.0, eta=0.05):
        self.b, self.eta, self.d = b, eta, n_features // 2
        self.A = np.eye(self.d)

    def apart(self, x):
        return np.subtract(x[: self.d], x[self.d :])

    def score(self, x):
        return [float(self.b - self.apart(x) @ self.A @ self.apart(x))]

    def learn(self, x, y):
        if sign_of(y) * self.score(x)[0] < 1:
            self.A = self.A - self.eta * sign_of(y) * np.outer(self.apart(x), self.apart(x))
            if y == 1:
                values, vectors = np.linalg.eigh(self.A)
                self.A = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T


class OMTL:
    def __init__(self, n_features, n_classes, kind, tasks=2, b=-1.0, intercept=True):
        self.K, self.b, self.intercept = tasks, tasks if b < 0 else b, intercept
        self.W = [[0.0] * (n_features - 1 + intercept) for _ in range(tasks)]

    def score(self, x):
        k = known(x[0], self.K)
        return [0.0 if k is None else inner(self.W[k], extended(x[1:], self.intercept))]

    def learn(self, x, y):
        k = known(x[0], self.K)
        if k is None or sign_of(y) * self.score(x)[0] > 0:
            return
        for j, row in enumerate(self.W):
            share = (self.K * (j == k) + self.b) / ((1 + self.b) * self.K)
            for i, value in enumerate(extended(x[1:], self.intercept)):
                row[i] += sign_of(y) * share * value
