"""ALGORITHMS.md 12.1: nearest neighbours, and support vector machines by dual coordinate descent, on a window."""

from __future__ import annotations

from math import inf, sqrt

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


class KNN:
    """A list of the rows of the window, the newest last."""

    def __init__(self, n_features, n_classes, kind, window=1000, k=1):
        self.window, self.k = window, k
        self.K, self.binary = n_classes, kind == "binary"
        self.rows = []

    def distances(self, x):
        return [(sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))), label) for z, label in self.rows]

    def score(self, x):
        known = self.distances(x)
        if self.k > 1:
            aged = [(far, age, label) for age, (far, label) in enumerate(reversed(known))]
            nearest = [(far, label) for far, _, label in sorted(aged)[: self.k]]  # of equals the newest first
            counts = [sum(label == c for _, label in nearest) for c in range(self.K)]
            return [(counts[1] - counts[0]) / self.k] if self.binary else [n / self.k for n in counts]
        d = [min((far for far, label in known if label == c), default=inf) for c in range(self.K)]
        return [self.signed(*d)] if self.binary else self.shares(d)

    @staticmethod
    def signed(minus, plus):
        """(d_- - d_+) / (d_- + d_+), where a class that is absent is infinitely far."""
        if minus == plus:
            return 0.0
        if inf in (minus, plus):
            return 1.0 if minus == inf else -1.0
        return (minus - plus) / (minus + plus)

    @staticmethod
    def shares(d):
        """Of several classes: 1 / d_c over their sum; classes at no distance have it all."""
        near = [float(far == 0.0) for far in d] if 0.0 in d else [1.0 / far for far in d]
        return [one / sum(near) if any(near) else 0.0 for one in near]

    def learn(self, x, y):
        self.rows = [*self.rows, (list(x), int(y))][-self.window :]


class Machine:
    """What the three have in common: slots, of which the oldest is used again, and training on some of them."""

    def __init__(self, n_features, size, C=1.0, tol=1e-3, max_sweeps=10, seed=1, intercept=True):
        self.C, self.tol, self.max_sweeps, self.intercept = C, tol, max_sweeps, intercept
        self.size = size
        self.rng = Xoshiro(seed)
        self.w = [0.0] * (n_features + intercept)
        self.slots, self.t = [], 0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def enter(self, x, y):
        """Slot of the row; None if nothing can be learned from it."""
        x = extended(x, self.intercept)
        if not 0.0 < inner(x, x) < inf:
            return None
        slot = self.t % self.size
        self.slots[slot : slot + 1] = [(x, sign_of(y))]
        self.t += 1
        return slot

    def combined(self, alpha):
        """w of its definition."""
        w = [0.0] * len(self.w)
        for slot, a in alpha.items():
            x, y = self.slots[slot]
            w = [p + a * y * q for p, q in zip(w, x, strict=True)]
        return w

    def trained(self, slots, alpha):
        """w after training on these slots; alpha, slot -> coefficient, is where it begins, and is changed."""
        w, order = self.combined(alpha), list(slots)
        for _ in range(self.max_sweeps):
            self.rng.permute(order)
            seen = []
            for i in order:
                x, y = self.slots[i]
                a, G = alpha[i], y * inner(w, x) - 1.0
                PG = min(G, 0.0) if a == 0.0 else max(G, 0.0) if a == self.C else G
                seen.append(PG)
                if abs(PG) > 1e-12:
                    alpha[i] = min(max(a - G / inner(x, x), 0.0), self.C)
                    w = [p + (alpha[i] - a) * y * q for p, q in zip(w, x, strict=True)]
            if max(seen) - min(seen) < self.tol:
                break
        return w


class SVMWin(Machine):
    def __init__(self, n_features, n_classes, kind, window=200, retrain_every=1, **training):
        super().__init__(n_features, window, **training)
        self.every, self.alpha = retrain_every, {}

    def learn(self, x, y):
        before = self.slots[self.t % self.size] if self.t >= self.size else None
        slot = self.enter(x, y)
        if slot is None:
            return
        gone = self.alpha.get(slot, 0.0)
        self.alpha[slot] = 0.0
        if before:
            self.w = [p - gone * before[1] * q for p, q in zip(self.w, before[0], strict=True)]
        if self.t % self.every == 0:
            self.w = self.trained(range(len(self.slots)), self.alpha)


class SVMFix(Machine):
    def __init__(self, n_features, n_classes, kind, window=500, batch=100, **training):
        super().__init__(n_features, window, **training)
        self.batch = batch

    def learn(self, x, y):
        if self.enter(x, y) is not None and self.t % self.batch == 0:
            slots = range(len(self.slots))
            self.w = self.trained(slots, dict.fromkeys(slots, 0.0))


class SVMAda(Machine):
    def __init__(self, n_features, n_classes, kind, batch=100, max_batches=20, rho=1.0, **training):
        super().__init__(n_features, batch * max_batches, **training)
        self.batch, self.max_batches, self.rho = batch, max_batches, rho

    def learn(self, x, y):
        if self.enter(x, y) is None or self.t % self.batch:
            return
        found = []
        for h in range(1, min(self.t // self.batch, self.max_batches) + 1):
            last = [t % self.size for t in range(self.t - h * self.batch, self.t)]
            alpha = dict.fromkeys(last, 0.0)
            w = self.trained(last, alpha)
            R2 = max(inner(x, x) for x, _ in (self.slots[i] for i in last))
            found.append((self.estimate(w, alpha, last[-self.batch :], R2), -h, w))
        self.w = min(found)[2]

    def estimate(self, w, alpha, batch, R2):
        """Share of a batch's rows with rho alpha R^2 + xi >= 1."""
        xi = [max(0.0, 1.0 - y * inner(w, x)) for x, y in (self.slots[i] for i in batch)]
        return sum(self.rho * alpha[i] * R2 + slack >= 1.0 for i, slack in zip(batch, xi, strict=True)) / len(batch)
