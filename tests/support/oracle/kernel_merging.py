"""Kernel learners that merge two vectors into one, or move two coefficients at once.

See docs/algorithms/kernel_methods.md#kernel-methods.
"""

from __future__ import annotations

from math import copysign, exp, inf, sqrt

from tests.support.oracle.kernel_budgets import clip
from tests.support.oracle.kernel_methods import Expansion, far


class BSGDMerge(Expansion):
    width = "median"
    more = 1

    def prepare(self, lam=1e-3, eta_max=10.0):
        self.lam, self.eta_max, self.t = lam, eta_max, 0

    def update(self, x, y, s):
        self.t += 1
        eta = min(1.0 / (self.lam * self.t), self.eta_max)
        self.multiply(1.0 - eta * self.lam)
        if y * s < 1.0:
            self.store(len(self.sv), x, eta * y / self.scale)
            if len(self.sv) > self.budget:
                self.shrink()

    def smallest(self):
        p = 0
        for i, a in enumerate(self.a):
            if abs(a) < abs(self.a[p]) * (1.0 - 1e-9):
                p = i
        return p

    def shrink(self):
        p, best, chosen = self.smallest(), inf, None
        for i, a in enumerate(self.a):
            if i == p or a * self.a[p] <= 0.0:
                continue
            h, size, lost = self.merger(p, i)
            if chosen is None or lost < best - 1e-12 * (self.a[p] ** 2 + a**2):
                best, chosen = lost, (i, h, size)
        if chosen is None:
            self.drop(p)
            return
        i, h, size = chosen
        z = [h * u + (1.0 - h) * v for u, v in zip(self.sv[p], self.sv[i], strict=True)]
        self.put(min(p, i), z, copysign(size, self.a[p]))
        self.drop(max(p, i))

    def merger(self, p, i):
        """Position on the line between both vectors, size of the new coefficient, and loss of the merge."""
        a, b = abs(self.a[p]), abs(self.a[i])
        log = -self.k.gamma * far(self.sv[p], self.sv[i])

        def g(h):
            return a * exp((1.0 - h) ** 2 * log) + b * exp(h**2 * log)

        lo, hi, r = 0.0, 1.0, (sqrt(5.0) - 1.0) / 2.0
        for _ in range(20):
            h1, h2 = hi - r * (hi - lo), lo + r * (hi - lo)
            if g(h1) >= g(h2) * (1.0 - 1e-12):
                hi = h2
            else:
                lo = h1
        h = (lo + hi) / 2.0
        return h, g(h), a * a + b * b + 2.0 * a * b * exp(log) - g(h) ** 2


class TVM(Expansion):
    """A coefficient is a pair of row counts [n+, n-] and duals [alpha+, alpha-] of both classes."""

    width = "median"
    normalised = True
    more = 1

    def __init__(self, n_features, n_classes, kind, budget=50, **given):
        super().__init__(n_features, n_classes, kind, budget, **given)

    def prepare(self, C=1.0, buf=0.0, passes=1):
        self.C, self.buf, self.passes = C, buf, passes

    def f(self, x):
        total = 0.0
        for z, (_, alpha) in zip(self.sv, self.a, strict=True):
            total += (alpha[0] - alpha[1]) * self.k(z, x)
        return total

    def update(self, x, y, s):
        if y * s > 1.0 + self.buf:
            return
        self.store(len(self.sv), x, ([1.0, 0.0] if y > 0.0 else [0.0, 1.0], [0.0, 0.0]))
        if len(self.sv) > self.budget:
            self.merge()
        for _ in range(self.passes):
            for j in range(len(self.sv)):
                self.ascend(j)

    def merge(self):
        closest, best = None, -inf
        for i, z in enumerate(self.sv):
            for j in range(i + 1, len(self.sv)):
                if self.k(z, self.sv[j]) > best:
                    best, closest = self.k(z, self.sv[j]), (i, j)
        i, j = closest
        m, n = sum(self.a[i][0]), sum(self.a[j][0])
        z = [(m * u + n * v) / (m + n) for u, v in zip(self.sv[i], self.sv[j], strict=True)]
        both = [[u + v for u, v in zip(p, q, strict=True)] for p, q in zip(self.a[i], self.a[j], strict=True)]
        self.put(i, z, tuple(both))
        self.drop(j)

    def ascend(self, j):
        z = self.sv[j]
        size, alpha = self.a[j]
        for side, y in ((0, 1.0), (1, -1.0)):
            if size[side] > 0.0:
                step = (1.0 - y * self.f(z)) / self.k(z, z)
                alpha[side] = clip(alpha[side] + step, 0.0, self.C * size[side])


class DUOL(Expansion):
    """f of the stored vectors is recomputed at each use."""

    normalised = True

    def prepare(self, C=1.0, rho=0.2):
        self.C, self.rho, self.sgn = C, rho, []

    def conflict(self, x, y):
        """Slot and value of the least w_b, among vectors with a loss above rounding error."""
        b, least = None, inf
        for i, z in enumerate(self.sv):
            w = y * self.sgn[i] * self.k(z, x)
            if w < least and 1.0 - self.sgn[i] * self.f(z) > 1e-9:
                b, least = i, w
        return b, least

    def update(self, x, y, s):
        loss = 1.0 - y * s
        if loss <= 0.0:
            return
        gamma = min(self.C, loss)
        b, w = self.conflict(x, y)
        if w <= -self.rho:
            of_b = 1.0 - self.sgn[b] * self.f(self.sv[b])
            gamma, more = self.double(loss, of_b, w, self.sgn[b] * self.a[b])
            self.a[b] += self.sgn[b] * more
        slot = self.oldest()
        self.sgn[slot : slot + 1] = [y]
        self.enter(x, gamma * y)

    def double(self, la, lb, w, had):
        """Best (gamma_a, gamma_b) in the box."""
        det = 1.0 - w * w
        ga, gb = ((la - w * lb) / det, (lb - w * la) / det) if det > 0.0 else (inf, inf)
        if 0.0 <= ga <= self.C and -had <= gb <= self.C - had:
            return ga, gb
        ga = clip(ga, 0.0, self.C)
        gb = clip(lb - w * ga, -had, self.C - had)
        return clip(la - w * gb, 0.0, self.C), gb
