"""docs/algorithms/bayesian.md#bayesian-learners: hmm_filter and particle_filter, on lists."""

from __future__ import annotations

from math import exp, log, log1p, sqrt

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


def normalized(values):
    return [v / sum(values) for v in values]


class HMM:
    def __init__(self, n_features, n_classes, kind, states=0, stay=8, own=100, decay=0.999, learn_A=True):
        self.binary = kind == "binary"
        self.decay, self.learn_A = decay, learn_A
        self.K, self.M = n_classes, states or n_classes
        self.NA0 = [[1 + stay * (i == j) for j in range(self.M)] for i in range(self.M)]
        self.NB0 = [[1 + own * (c == i % self.K) for c in range(self.K)] for i in range(self.M)]
        self.NA, self.NB = [list(row) for row in self.NA0], [list(row) for row in self.NB0]
        self.p = [1 / self.M] * self.M

    def tables(self):
        return [normalized(row) for row in self.NA], [normalized(row) for row in self.NB]

    def score(self, x):
        A, B = self.tables()
        pi = [sum(self.p[i] * A[i][j] for i in range(self.M)) for j in range(self.M)]
        S = [sum(B[k][c] * pi[k] for k in range(self.M)) for c in range(self.K)]
        return [log(S[1] / S[0])] if self.binary else S

    def cache(self, x):
        return self.p

    def learn_late(self, x, y, p):
        self.p = p
        self.learn(x, y)

    def learn(self, x, y):
        A, B = self.tables()
        c, states = int(y), range(self.M)
        J = [[self.p[i] * A[i][j] * B[j][c] for j in states] for i in states]
        total = sum(sum(row) for row in J)
        J = [[v / total for v in row] for row in J]
        self.p = [sum(J[i][j] for i in states) for j in states]
        for i in states:
            for j in states:
                self.NA[i][j] = self.NA0[i][j] + self.decay * (self.NA[i][j] - self.NA0[i][j])
                self.NA[i][j] += J[i][j] if self.learn_A else 0
            for k in range(self.K):
                self.NB[i][k] = self.NB0[i][k] + self.decay * (self.NB[i][k] - self.NB0[i][k])
                self.NB[i][k] += self.p[i] if k == c else 0


def logistic(m):
    m = min(max(m, -700), 700)
    return 1 / (1 + exp(-m)) if m >= 0 else exp(m) / (1 + exp(m))


def softmax(lw):
    return normalized([exp(v - max(lw)) for v in lw])


class Particles:
    def __init__(self, n_features, n_classes, kind, particles=200, prior_var=1.0, q=1e-3, seed=1, intercept=True):
        self.intercept, self.q, self.N = intercept, q, particles
        self.rng = Xoshiro(seed)
        d = n_features + intercept
        self.W = [[sqrt(prior_var) * self.rng.normal() for _ in range(d)] for _ in range(particles)]
        self.lw = [0.0] * particles

    def score(self, x):
        x = extended(x, self.intercept)
        trust = softmax(self.lw)
        p = sum(v * logistic(inner(w, x)) for v, w in zip(trust, self.W, strict=True))
        rest = sum(v * logistic(-inner(w, x)) for v, w in zip(trust, self.W, strict=True))  # 1 - p would cancel
        most = log((1 - 1e-12) / 1e-12)
        return [min(max(log(p / rest), -most), most)]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        margins = [y * inner(w, x) for w in self.W]
        self.lw = [v - max(-m, 0) - log1p(exp(-abs(m))) for v, m in zip(self.lw, margins, strict=True)]
        self.lw = [v - max(self.lw) for v in self.lw]
        trust = softmax(self.lw)
        if 1 / sum(v * v for v in trust) < self.N / 2:
            u = self.rng.uniform()
            self.W = [list(self.W[self.at((u + i) / self.N, trust)]) for i in range(self.N)]
            self.lw = [0.0] * self.N
        if self.q > 0:
            self.W = [[v + sqrt(self.q) * self.rng.normal() for v in w] for w in self.W]

    def at(self, point, trust):
        """Index of the particle whose interval of [0, 1) contains the point."""
        below = 0.0
        for i, v in enumerate(trust):
            below += v
            if point <= below:
                return i
        return self.N - 1
