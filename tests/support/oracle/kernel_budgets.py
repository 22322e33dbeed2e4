"""Kernel learners that remove, replace or project vectors when the budget is full.

See docs/algorithms/kernel_methods.md#kernel-methods.
"""

from __future__ import annotations

from math import sqrt

from tests.support.oracle.kernel_methods import Expansion
from tests.support.oracle.protocol import inner
from tests.support.oracle.random import Xoshiro


def clip(value, least, most):
    return max(least, min(most, value))


class BudgetPerceptron(Expansion):
    more = 1

    def prepare(self, rho=0.0):
        self.rho = rho

    def without_itself(self, i):
        """Margin of a vector without its own term; its coefficient is its label, -1 or 1."""
        z, a = self.sv[i], self.a[i]
        return a * (self.f(z) - a * self.k(z, z))

    def update(self, x, y, s):
        if y * s > self.rho:
            return
        self.store(len(self.sv), x, y)
        while len(self.sv) > self.budget:
            self.drop(max(range(len(self.sv)), key=self.without_itself))


class RBP(Expansion):
    def prepare(self, seed=1):
        self.rng = Xoshiro(seed)

    def update(self, x, y, s):
        if y * s <= 0.0:
            self.store(self.rng.randint(self.budget) if self.full() else len(self.sv), x, y)


class Forgetron(Expansion):
    normalised = True

    def prepare(self):
        self.Q, self.M, self.sgn = 0.0, 0, []

    def phi(self, A, B, C):
        if A + B + C <= 0.0:
            return 1.0
        return clip(-2.0 * C / (B + sqrt(max(0.0, B * B - 4.0 * A * C))), 0.0, 1.0)

    def update(self, x, y, s):
        if y * s > 0.0:
            return
        self.M += 1
        phi, r = 1.0, self.oldest()
        if self.full():
            z, delta = self.sv[r], abs(self.a[r])
            mu = self.sgn[r] * (self.f(z) + y * self.k(z, x))
            A, B, C = delta**2 - 2.0 * delta * mu, 2.0 * delta, self.Q - 15.0 / 32.0 * self.M
            phi = self.phi(A, B, C)
            self.Q += A * phi**2 + B * phi
        self.a = [phi * a for a in self.a]
        self.sgn[r : r + 1] = [y]
        self.enter(x, phi * y)


class BOGD(Expansion):
    normalised = True

    def prepare(self, eta=0.1, lam=0.01, clip=10.0, seed=1):
        self.eta, self.lam, self.most = eta, lam, eta * clip
        self.rng = Xoshiro(seed)

    def chances(self):
        return [1.0 / self.budget] * self.budget

    def drawn(self, p):
        return self.rng.randint(self.budget)

    def update(self, x, y, s):
        self.a = [(1.0 - self.eta * self.lam) * a for a in self.a]
        if y * s >= 1.0:
            return
        slot = len(self.sv)
        if self.full():
            p = self.chances()
            slot = self.drawn(p)
            kept = [a / (1.0 - chance) if 1.0 - chance > 1e-12 else a for a, chance in zip(self.a, p, strict=True)]
            self.a = [clip(a, -self.most, self.most) for a in kept]
        self.store(slot, x, self.eta * y)


class BOGDPP(BOGD):
    def chances(self):
        total = sum(abs(a) for a in self.a)
        if total == 0.0:
            return super().chances()
        p = [max(0.0, 1.0 - (self.budget - 1) * abs(a) / total) for a in self.a]
        return [chance / sum(p) for chance in p] if sum(p) > 0.0 else super().chances()

    def drawn(self, p):
        u, reached = self.rng.uniform(), 0.0
        for r, chance in enumerate(p):
            reached += chance
            if u < reached:
                return r
        return max(r for r, chance in enumerate(p) if chance > 0.0)


class BPAS(Expansion):
    width = "median"

    def prepare(self, C=0.1):
        self.C = C

    def update(self, x, y, s):
        loss, kxx = 1.0 - y * s, self.k(x, x)
        if loss <= 0.0:
            return
        tau = min(self.C, loss / kxx)
        if not self.full():
            self.store(len(self.sv), x, tau * y)
            return
        kv = self.values(x)

        def cost(r):
            return self.a[r] ** 2 * (self.k(self.sv[r], self.sv[r]) - kv[r] ** 2 / kxx)

        r = min(range(self.budget), key=cost)
        self.store(r, x, self.a[r] * kv[r] / kxx + tau * y)


def inverse(A):
    """Inverse of a matrix, by elimination with partial pivoting."""
    n = len(A)
    rows = [[*row, *(float(i == j) for j in range(n))] for i, row in enumerate(A)]
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [v - rows[r][i] * u for v, u in zip(rows[r], rows[i], strict=True)]
    return [row[n:] for row in rows]


class Projectron(Expansion):
    width = "median"

    def prepare(self, eta=0.1):
        self.eta, self.Kinv = eta, []

    def widened(self):
        K = [[self.k(z, w) + 1e-10 * (i == j) for j, w in enumerate(self.sv)] for i, z in enumerate(self.sv)]
        self.Kinv = inverse(K)

    def add_to_inverse(self, d, D):
        grown = [
            [v + p * q / D for v, q in zip(row, d, strict=True)] + [-p / D] for row, p in zip(self.Kinv, d, strict=True)
        ]
        self.Kinv = [*grown, [*(-q / D for q in d), 1.0 / D]]

    def project(self, step, d):
        self.a = [a + step * v for a, v in zip(self.a, d, strict=True)]

    def update(self, x, y, s):
        kv, kxx = self.values(x), self.k(x, x)
        d = [inner(row, kv) for row in self.Kinv]
        pk = inner(kv, d)
        D = max(0.0, kxx - pk)
        if y * s <= 0.0:
            new = len(self.sv) < self.budget and sqrt(D) > self.eta and 1e-8 * kxx < D
            if new or not self.sv:
                self.add_to_inverse(d, D)
                self.store(len(self.sv), x, y)
                if self.full():
                    self.widened()
            else:
                self.project(y, d)
        elif y * s < 1.0:
            self.corrected(y, 1.0 - y * s, sqrt(D), pk, d)

    def corrected(self, y, loss, delta, pk, d):
        """Ignore margin errors."""


class ProjectronPP(Projectron):
    def prepare(self, eta=0.1):
        super().prepare(eta or 1e-3)

    def corrected(self, y, loss, delta, pk, d):
        if loss >= delta / self.eta and pk > 1e-12:
            self.project(y * min(loss / pk, 2.0 * (loss - delta / self.eta) / pk, 1.0), d)
