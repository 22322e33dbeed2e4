"""Online ODM, its restarts, and D-ODM on the explicit grid of epochs, without forks.

See docs/algorithms/margin_distribution.md#margin-distribution-learners.
"""

from __future__ import annotations

import math
from statistics import median

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


def loss(m, mu, theta):
    """Loss l at margin m."""
    u, r = max(0.0, 1 - theta - m), max(0.0, m - 1 - theta)
    return (u**2 + mu * r**2) / (1 - theta) ** 2


def gradient(w, x, y, mu, theta):
    m = y * inner(w, x)
    u, r = max(0.0, 1 - theta - m), max(0.0, m - 1 - theta)
    return [2 * y * (-u + mu * r) / (1 - theta) ** 2 * v for v in x]


class Online:
    epoch = math.inf

    def __init__(
        self,
        n_features,
        n_classes,
        kind,
        lam=3.0,
        mu=0.5,
        theta=0.3,
        eta=1.0,
        schedule="inv_t",
        safe_step=True,
        intercept=True,
    ):
        self.d = n_features + intercept
        self.lam, self.mu, self.theta, self.eta = lam, mu, theta, eta
        self.inv_t, self.safe_step, self.intercept = schedule == "inv_t", safe_step, intercept
        self.restart()

    def restart(self):
        self.w, self.age = [0.0] * self.d, 0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        self.age += 1
        eta = self.eta / self.age if self.inv_t else self.eta
        if self.safe_step:
            H = 1 + 2 * self.lam * max(1, self.mu) * inner(x, x) / (1 - self.theta) ** 2
            eta = min(eta, 1 / H)
        grad = gradient(self.w, x, y, self.mu, self.theta)
        self.w = [w - eta * (w + self.lam * g) for w, g in zip(self.w, grad, strict=True)]
        if self.age == self.epoch:
            self.restart()


class Restarted(Online):
    def __init__(self, *shape, epoch=1000, init="zero", init_scale=0.01, seed=1, **online):
        self.epoch, self.random, self.init_scale, self.rng = epoch, init == "random", init_scale, Xoshiro(seed)
        super().__init__(*shape, **online)

    def restart(self):
        super().restart()
        if self.random:
            self.w = [self.init_scale / math.sqrt(self.d) * self.rng.normal() for _ in self.w]


class Dynamic:
    """Experts with epochs 1, 2, 4 .. 2^(finite-1), and one without restarts.

    N counts that expert and those that differ from it; one that first differs after a row counts from the next row on.
    """

    def __init__(
        self,
        n_features,
        n_classes,
        kind,
        rate="anytime",
        meta_loss="f",
        f_clip=0.0,
        horizon=0,
        C=100.0,
        V_T=0.0,
        finite=12,
        **online,
    ):
        self.rate, self.zero_one, self.f_clip, self.T, self.C = rate, meta_loss == "zero_one", f_clip, horizon, C
        if horizon:
            N = math.log2(2 * C * horizon / V_T) / 2 if V_T else math.log2(horizon * math.sqrt(2 * C))
            sizes = [2 ** (i - 1) * math.sqrt(1 / (2 * C)) for i in range(1, math.ceil(N) + 2)]
            grid = sorted({max(1, math.ceil(size)) for size in sizes})
            self.prior = [1 / len(grid)] * len(grid)
        else:
            grid = [2**i for i in range(finite)] + [math.inf]
            self.prior = [1 / (k * (k + 1)) for k in range(1, finite + 1)] + [1 / (finite + 1)]
        self.experts = [Restarted(n_features, n_classes, kind, epoch=size, **online) for size in grid]
        self.beta = list(self.prior)
        self.t, self.gap, self.eta = 0, 1e-12, math.log(2) / 1e-12
        self.begin_block()

    def begin_block(self):
        self.total, self.largest = [0.0] * len(self.experts), 0.0

    def score(self, x):
        return [inner(self.beta, [e.score(x)[0] for e in self.experts])]

    def loss_of(self, e, x, y):
        x, y = extended(x, e.intercept), sign_of(y)
        m = y * inner(e.w, x)
        if self.zero_one:
            return 1.0 if m < 0 else 0.5 if m == 0 else 0.0
        return inner(e.w, e.w) / 2 + e.lam * loss(m, e.mu, e.theta)

    def losses(self, x, y):
        f = [self.loss_of(e, x, y) for e in self.experts]
        if self.f_clip and not self.zero_one:
            differ = [v for v, e in zip(f, self.experts, strict=True) if self.T or e.epoch <= self.t]
            bound = self.f_clip * median(differ + ([] if self.T else [f[-1]]))
            f = [min(v, bound) for v in f]
        if self.T and not self.zero_one:
            f = [min(v, self.C) for v in f]
        return f

    def learn(self, x, y):
        f = self.losses(x, y)
        over = [v - min(f) for v in f]  # exactly 0 while all are equal, as adahedge's first eta amplifies 1e-16 to 1e-4
        mixed = sum(b * math.exp(-self.eta * v) for b, v in zip(self.beta, over, strict=True))
        self.gap += max(0.0, inner(self.beta, over) + math.log(mixed) / self.eta if mixed else 0.0)
        self.total = [a + v for a, v in zip(self.total, f, strict=True)]
        self.largest = max([self.largest, *f])
        for e in self.experts:
            e.learn(x, y)
        self.t += 1
        block, start = 64, 0
        while start + block <= self.t:
            start, block = start + block, 2 * block
        if self.rate == "doubling" and self.t == start:
            self.begin_block()
        N = len(self.experts) if self.T else 1 + sum(e.epoch < self.t for e in self.experts)
        C = 1.0 if self.zero_one else self.C if self.T else self.largest
        rows = self.T or (block if self.rate == "doubling" else self.t)
        rate = math.sqrt(8 * math.log(N) / rows) / C if C else 0.0
        if self.rate == "adahedge":
            rate = self.eta = math.log(max(N, 2)) / self.gap
        behind = [v - min(self.total) for v in self.total]
        exponent = [math.log(p) - rate * v for p, v in zip(self.prior, behind, strict=True)]
        power = [math.exp(v - max(exponent)) for v in exponent]
        self.beta = [v / sum(power) for v in power]
