"""Oam_seq, oam_gra, opauc, adaoam; AUC and balanced accuracy, over all rows.

See docs/algorithms/imbalanced.md#imbalanced-classes.
"""

from __future__ import annotations

from math import sqrt

from tests.support.oracle.protocol import inner, sign_of
from tests.support.oracle.random import Xoshiro


def minus(a, b):
    return [p - q for p, q in zip(a, b, strict=True)]


class Ranker:
    """Weights, and the sums of each class for its mean."""

    def __init__(self, n_features):
        self.d = n_features
        self.w = [0.0] * n_features
        self.n = {-1.0: 0, 1.0: 0}
        self.sum = {y: [0.0] * n_features for y in self.n}

    def mean(self, y):
        return [v / max(self.n[y], 1) for v in self.sum[y]]

    def score(self, x):
        middle = [0.5 * (a + b) for a, b in zip(self.mean(-1.0), self.mean(1.0), strict=True)]
        return [inner(self.w, x) - inner(self.w, middle)]

    def join(self, x, y):
        self.n[y] += 1
        self.sum[y] = [a + v for a, v in zip(self.sum[y], x, strict=True)]

    def learn(self, x, y):
        y = sign_of(y)
        self.join(x, y)
        if self.n[-y] > 0:
            self.step(x, y)


class OPAUC(Ranker):
    def __init__(self, n_features, n_classes, kind, eta=0.001, lam=0.01, safe_step=True, cov="auto"):
        super().__init__(n_features)
        self.eta, self.lam, self.safe = eta, lam, safe_step
        self.full = n_features <= 256 if cov == "auto" else cov == "full"
        self.products = {y: [[0.0] * n_features for _ in range(n_features)] for y in self.n}

    def join(self, x, y):
        super().join(x, y)
        for i in range(self.d):
            for j in range(self.d):
                self.products[y][i][j] += x[i] * x[j]

    def covariance(self, y):
        """Mean of products minus product of means; the diagonal form has 0 off the diagonal."""
        c, n = self.mean(y), self.n[y]
        return [
            [self.products[y][i][j] / n - c[i] * c[j] if self.full or i == j else 0.0 for j in range(self.d)]
            for i in range(self.d)
        ]

    def gradient(self, x, y):
        """Gradient for both cases of the paper, and 1 / the largest safe step."""
        S = self.covariance(-y)
        e = minus(x, self.mean(-y))
        r = inner(e, self.w)
        Sw = [inner(row, self.w) for row in S]
        sign = -1.0 if y > 0 else 1.0
        g = [self.lam * w + sign * v + v * r + u for w, v, u in zip(self.w, e, Sw, strict=True)]
        return g, self.lam + inner(e, e) + sum(S[i][i] for i in range(self.d))

    def step(self, x, y):
        g, curvature = self.gradient(x, y)
        eta = self.eta if not self.safe or curvature == 0.0 else min(self.eta, 1.0 / curvature)
        self.w = [w - eta * v for w, v in zip(self.w, g, strict=True)]


class AdaOAM(OPAUC):
    def __init__(self, n_features, n_classes, kind, eta=0.1, lam=0.01, cov="auto"):
        super().__init__(n_features, n_classes, kind, eta=eta, lam=lam, cov=cov)
        self.G = [0.0] * n_features

    def step(self, x, y):
        g, _ = self.gradient(x, y)
        self.G = [a + v * v for a, v in zip(self.G, g, strict=True)]
        self.w = [w - self.eta * v / (sqrt(a) + 1e-8) for w, v, a in zip(self.w, g, self.G, strict=True)]


class OAMSeq(Ranker):
    def __init__(self, n_features, n_classes, kind, buffer=100, C=0.1, reweight=False, seed=1):
        super().__init__(n_features)
        self.B, self.C, self.reweight = buffer, C, reweight
        self.rng = Xoshiro(seed)
        self.sample = {-1.0: [], 1.0: []}

    def most(self, y):
        c = max(1.0, self.n[-y] / self.B) if self.reweight else 1.0
        return self.C * c / self.B

    def learn(self, x, y):
        super().learn(x, y)
        y = sign_of(y)
        i, sample = self.n[y], self.sample[y]
        if i <= self.B:
            sample.append(list(x))
        else:
            j = self.rng.randint(i)
            if j < self.B:
                sample[j] = list(x)

    def step(self, x, y):
        for other in self.sample[-y]:
            e = minus(x, other)
            if any(e):
                tau = min(self.most(y), max(0.0, 1.0 - y * inner(self.w, e)) / inner(e, e))
                self.w = [w + tau * y * v for w, v in zip(self.w, e, strict=True)]


class OAMGra(OAMSeq):
    def step(self, x, y):
        pulling = [minus(x, other) for other in self.sample[-y] if y * inner(self.w, minus(x, other)) <= 1.0]
        total = [sum(e[j] for e in pulling) for j in range(self.d)]
        self.w = [w + self.most(y) * y * v for w, v in zip(self.w, total, strict=True)]


def auc(scores, labels):
    """Share of (positive, negative) pairs in which the positive scores higher, ties as one half; by rank sum."""
    order = sorted(range(len(scores)), key=lambda t: scores[t])
    ranks = [0.0] * len(scores)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        for place in range(start, end):
            ranks[order[place]] = (start + 1 + end) / 2
        start = end
    positives = [rank for rank, label in zip(ranks, labels, strict=True) if label == 1.0]
    n, m = len(positives), len(labels) - len(positives)
    return (sum(positives) - n * (n + 1) / 2) / (n * m)


def balanced_accuracy(scores, labels):
    """Mean of sensitivity and specificity."""
    shares = []
    for label in (0.0, 1.0):
        hits = [(s >= 0) == (y == 1.0) for s, y in zip(scores, labels, strict=True) if y == label]
        shares.append(sum(hits) / len(hits))
    return sum(shares) / 2
