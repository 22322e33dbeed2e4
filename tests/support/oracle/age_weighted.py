"""Experts indexed by their first row, or in sequence: flh, saol, condor, adaboost_ol, eos_elm.

See docs/algorithms/ensembles.md#adaptive-regret-and-model-reuse.
"""

from __future__ import annotations

import math

import numpy as np

from tests.support.oracle.ensembles import Expert
from tests.support.oracle.gradient_descent import Square
from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


def logistic(margin):
    return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)


class FLH:
    def __init__(self, n_features, n_classes, kind, base="ogd_logistic/schedule=const/eta=0.1", alpha=1.0):
        self.fresh = lambda: Expert(base, n_features, n_classes, kind)
        self.alpha, self.t = alpha, 1
        self.alive = {1: self.fresh()}

    def score(self, x):
        return [sum(e.weight * e.one.score(x)[0] for e in self.alive.values())]

    def learn(self, x, y):
        for e in self.alive.values():
            e.weight *= math.exp(-self.alpha * min(1.0, logistic(sign_of(y) * e.one.score(x)[0])))
            e.learn(x, y)
        total = sum(e.weight for e in self.alive.values())
        self.t += 1
        for e in self.alive.values():
            e.weight *= (1.0 - 1.0 / self.t) / total
        self.alive = {born: e for born, e in self.alive.items() if self.t <= born + 4 * largest_power(born)}
        self.alive[self.t] = self.fresh()
        self.alive[self.t].weight = 1.0 / self.t
        total = sum(e.weight for e in self.alive.values())
        for e in self.alive.values():
            e.weight /= total


def largest_power(t):
    """The largest power of two that divides t."""
    power = 1
    while t % (2 * power) == 0:
        power *= 2
    return power


class SAOL:
    def __init__(self, n_features, n_classes, kind, base="ogd_logistic/schedule=const/eta=0.1"):
        self.fresh = lambda j: Expert(base, n_features, n_classes, kind, self.rate(j))
        self.t, self.scales = 1, [self.fresh(0)]

    @staticmethod
    def rate(j):
        return min(0.5, 2.0 ** (-j / 2))

    def score(self, x):
        return [sum(e.weight * e.one.score(x)[0] for e in self.scales) / sum(e.weight for e in self.scales)]

    def learn(self, x, y):
        losses = [min(1.0, logistic(sign_of(y) * e.one.score(x)[0])) for e in self.scales]
        total = sum(e.weight for e in self.scales)
        mean = sum(e.weight / total * loss for e, loss in zip(self.scales, losses, strict=True))
        for j, (e, loss) in enumerate(zip(self.scales, losses, strict=True)):
            e.weight *= 1.0 + self.rate(j) * (mean - loss)
            e.learn(x, y)
        self.t += 1
        for j in range(self.t.bit_length()):
            if self.t % 2**j == 0:
                self.scales[j : j + 1] = [self.fresh(j)]


class AdaBoostOL:
    def __init__(
        self, n_features, n_classes, kind, n=20, base="ogd_logistic", mode="sample", deterministic=False, seed=1
    ):
        self.members = [Expert(base, n_features, n_classes, kind) for _ in range(n)]
        self.alpha, self.log_v, self.i, self.t = [0.0] * n, [0.0] * n, n - 1, 0
        self.mode, self.deterministic, self.random = mode, deterministic, Xoshiro(seed)

    def score(self, x):
        votes = [2.0 * e.vote(x) - 1.0 for e in self.members]
        return [sum(a * h for a, h in zip(self.alpha[: self.i + 1], votes, strict=False))]

    def learn(self, x, y):
        self.t += 1
        sign, sigma = sign_of(y), 0.0
        for i, e in enumerate(self.members):
            z = sign * (2.0 * e.vote(x) - 1.0)
            omega = 1.0 / (1.0 + math.exp(sigma))
            sigma += self.alpha[i] * z
            self.alpha[i] = max(-2.0, min(2.0, self.alpha[i] + 4.0 / math.sqrt(self.t) * z / (1.0 + math.exp(sigma))))
            if (sign * sigma >= 0.0) != (y == 1.0):
                self.log_v[i] -= 1.0
            if self.mode == "weight":
                eta = e.one.eta  # with gradient descent, a row of weight omega makes a step omega times as long
                e.one.eta = omega * eta
                e.learn(x, y)
                e.one.eta = eta
            elif self.random.uniform() < omega:
                e.learn(x, y)
        self.log_v = [v - max(self.log_v) for v in self.log_v]
        v = [math.exp(one) for one in self.log_v]
        self.i = v.index(max(v))
        if not self.deterministic:
            point = self.random.uniform() * sum(v)
            self.i = next((i for i in range(len(v)) if sum(v[: i + 1]) > point), len(v) - 1)


class Condor:
    def __init__(self, n_features, n_classes, kind, eta=0.1, lam=0.01, period=500, pool=25, intercept=True):
        self.eta, self.lam, self.period, self.most, self.intercept = eta, lam, period, pool, intercept
        self.w, self.pool = [0.0] * (n_features + intercept), []
        self.begin()

    def begin(self):
        self.losses, self.c = [0.0 for _ in self.pool], 0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        drawn = [sum(b * model[j] for b, model in zip(self.shares(), self.pool, strict=True)) for j in range(len(x))]
        g = -y / (1.0 + math.exp(max(-700.0, min(700.0, y * inner(self.w, x)))))
        self.w = [
            w - self.eta * (g * v + self.lam * (w - toward)) for w, v, toward in zip(self.w, x, drawn, strict=True)
        ]
        self.c += 1
        self.losses = [
            loss + min(1.0, logistic(y * inner(model, x))) for loss, model in zip(self.losses, self.pool, strict=True)
        ]
        if self.c == self.period:
            self.pool = [*self.pool, self.w][-self.most :]
            self.begin()

    def shares(self):
        if not self.pool:
            return []
        rate = math.sqrt(8.0 * math.log(max(len(self.pool), 2)) / max(self.c, 1))
        beta = [math.exp(-rate * (loss - min(self.losses))) for loss in self.losses]
        return [b / sum(beta) for b in beta]


class Projected(Square):
    def __init__(self, n_features, n_classes, kind, eta=0.1, radius=10.0, **given):
        super().__init__(n_features, n_classes, kind, eta=eta, schedule="const", radius=radius, **given)


class EOSELM:
    """As published: the first block is solved at once, later rows are learned one by one."""

    def __init__(self, n_features, n_classes, kind, n=5, hidden=20, init_block=0, ridge=1e-3, seed=1, intercept=True):
        self.kind, self.intercept, self.ridge = kind, intercept, ridge
        self.block, self.targets, self.random = init_block or 2 * hidden, [], Xoshiro(seed)
        d = n_features + intercept
        self.networks = [self.network(hidden, d) for _ in range(n)]

    def network(self, hidden, d):
        A = [[2.0 * self.random.uniform() - 1.0 for _ in range(d)] for _ in range(hidden)]
        return {"A": A, "b": [self.random.uniform() for _ in range(hidden)], "H": []}

    def phi(self, net, x):
        x = extended(x, self.intercept)
        return [1.0 / (1.0 + math.exp(-inner(a, x) - b)) for a, b in zip(net["A"], net["b"], strict=True)]

    def score(self, x):
        if len(self.targets) < self.block:
            return [math.fsum(self.targets) / max(len(self.targets), 1)]
        return [sum(inner(net["beta"], self.phi(net, x)) for net in self.networks) / len(self.networks)]

    def learn(self, x, y):
        y = y if self.kind == "regression" else sign_of(y)
        for net in self.networks:
            phi = self.phi(net, x)
            if len(self.targets) < self.block:
                net["H"].append(phi)
            else:
                k = [inner(row, phi) for row in net["P"]]
                error, h = y - inner(net["beta"], phi), 1.0 + inner(phi, k)
                net["P"] = [
                    [p - a * b / h for p, b in zip(row, k, strict=True)] for row, a in zip(net["P"], k, strict=True)
                ]
                net["beta"] = [b + a * error / h for b, a in zip(net["beta"], k, strict=True)]
        self.targets.append(y)
        if len(self.targets) == self.block:
            for net in self.networks:
                self.solve(net)

    def solve(self, net):
        H = np.array(net["H"])
        P = np.linalg.inv(H.T @ H + self.ridge * np.eye(H.shape[1]))
        net["P"], net["beta"] = P.tolist(), (P @ H.T @ np.array(self.targets)).tolist()
