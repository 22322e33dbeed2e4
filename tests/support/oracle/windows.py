"""Nearest neighbours, and support vector machines by dual coordinate descent, on a window.

See docs/algorithms/windows.md#window-methods.
"""

from __future__ import annotations

from math import ceil, exp, inf, sqrt

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


class KNN:
    """Keeps the rows of the window in a list, the newest last."""

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
            nearest = [(far, label) for far, _, label in sorted(aged)[: self.k]]  # on ties the newest first
            counts = [sum(label == c for _, label in nearest) for c in range(self.K)]
            return [(counts[1] - counts[0]) / self.k] if self.binary else [n / self.k for n in counts]
        d = [min((far for far, label in known if label == c), default=inf) for c in range(self.K)]
        return [self.signed(*d)] if self.binary else self.shares(d)

    @staticmethod
    def signed(minus, plus):
        """(d_- - d_+) / (d_- + d_+), where an absent class is infinitely far."""
        if minus == plus:
            return 0.0
        if inf in (minus, plus):
            return 1.0 if minus == inf else -1.0
        return (minus - plus) / (minus + plus)

    @staticmethod
    def shares(d):
        """For several classes: 1 / d_c over their sum; classes at distance 0 share everything."""
        near = [float(far == 0.0) for far in d] if 0.0 in d else [1.0 / far for far in d]
        return [one / sum(near) if any(near) else 0.0 for one in near]

    def learn(self, x, y):
        self.rows = [*self.rows, (list(x), int(y))][-self.window :]


class Machine:
    """Base of the three machines: a ring of slots, and training on some of them.

    A machine is w, or, with the Gaussian kernel, a list of (alpha y, x).
    """

    def __init__(
        self, n_features, size, C=1.0, tol=1e-3, max_sweeps=10, seed=1, intercept=True, kernel="linear", gamma=0.0
    ):
        self.C, self.tol, self.max_sweeps, self.intercept = C, tol, max_sweeps, intercept
        self.size = size
        self.rng = Xoshiro(seed)
        self.linear, self.gamma = kernel == "linear", gamma or 1.0 / n_features
        self.machine = [0.0] * (n_features + intercept) if self.linear else []
        self.slots, self.t, self.visits = [], 0, 0

    def k(self, x, z):
        if self.linear:
            return inner(x, z)
        return exp(-self.gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) + self.intercept

    def value(self, machine, x):
        return inner(machine, x) if self.linear else sum(a * self.k(z, x) for a, z in machine)

    def score(self, x):
        return [self.value(self.machine, extended(x, self.intercept))]

    def enter(self, x, y):
        """Store a row and return its slot; None if nothing can be learned from it."""
        x = extended(x, self.intercept)
        if inner(x, x) == inf or (self.linear and inner(x, x) == 0.0):
            return None
        slot = self.t % self.size
        self.slots[slot : slot + 1] = [(x, sign_of(y))]
        self.t += 1
        return slot

    def made_of(self, alpha):
        """The machine with these coefficients."""
        pairs = [(a * self.slots[slot][1], self.slots[slot][0]) for slot, a in alpha.items()]
        if not self.linear:
            return pairs
        w = [0.0] * len(self.slots[0][0])
        for a, x in pairs:
            w = [p + a * q for p, q in zip(w, x, strict=True)]
        return w

    def trained(self, slots, alpha):
        """Return the machine trained on these slots, starting from alpha, slot -> coefficient, which is updated."""
        return (self.descended if self.linear else self.descended_by_values)(list(slots), alpha)

    def descended(self, order, alpha):
        w = self.made_of(alpha)

        def value(i):
            return inner(w, self.slots[i][0])

        def moved(i, by):
            w[:] = [p + by * q for p, q in zip(w, self.slots[i][0], strict=True)]

        self.sweep(order, alpha, value, moved)
        return w

    def descended_by_values(self, order, alpha):
        """Train with values that are recomputed each time as sums over all coefficients."""
        k = {i: {j: self.k(self.slots[i][0], self.slots[j][0]) for j in order} for i in order}
        signs = {i: self.slots[i][1] for i in order}

        def value(i):
            return sum(alpha[j] * signs[j] * k[i][j] for j in order if alpha[j])

        self.sweep(order, alpha, value, lambda i, by: None)
        return self.made_of(alpha)

    def sweep(self, order, alpha, value, moved):
        """Algorithm 1 of Hsieh and others; value(i) is the value of a row, moved(i, by) reports a change of alpha y."""
        for _ in range(self.max_sweeps):
            self.rng.permute(order)
            seen = []
            self.visits += len(order)
            for i in order:
                x, y = self.slots[i]
                a, G = alpha[i], y * value(i) - 1.0
                PG = min(G, 0.0) if a == 0.0 else max(G, 0.0) if a == self.C else G
                seen.append(PG)
                if abs(PG) > 1e-12:
                    alpha[i] = min(max(a - G / self.k(x, x), 0.0), self.C)
                    moved(i, (alpha[i] - a) * y)
            if max(seen) - min(seen) < self.tol:
                break


class SVMWin(Machine):
    def __init__(self, n_features, n_classes, kind, window=200, retrain_every=1, **training):
        super().__init__(n_features, window, **training)
        self.every, self.alpha = retrain_every, {}

    def learn(self, x, y):
        slot = self.enter(x, y)
        if slot is None:
            return
        self.alpha[slot] = 0.0  # replaces the oldest row's coefficient
        self.machine = self.made_of(self.alpha)
        if self.t % self.every == 0:
            self.machine = self.trained(range(len(self.slots)), self.alpha)


class Late(Machine):
    """Retrains every `batch` rows; a machine takes effect once its visits are done, most_visits / spread per row."""

    def __init__(self, n_features, size, batch, spread=10, **training):
        super().__init__(n_features, size, **training)
        self.batch, self.spread, self.coming = batch, spread, {}

    def learn(self, x, y):
        if self.enter(x, y) is None:
            return
        if self.t % self.batch == 0:
            self.visits = 0
            best = self.best()
            rows = ceil(self.visits / ceil(self.most_visits() / self.spread))
            self.coming[self.t + rows - 1] = best
        self.machine = self.coming.pop(self.t, self.machine)

    def last(self, n):
        """Slots of the last n rows, oldest first."""
        return [t % self.size for t in range(max(self.t - n, 0), self.t)]


class SVMFix(Late):
    def __init__(self, n_features, n_classes, kind, window=500, batch=100, **training):
        super().__init__(n_features, window, batch, **training)

    def most_visits(self):
        return self.size * self.max_sweeps

    def best(self):
        slots = self.last(self.size)
        return self.trained(slots, dict.fromkeys(slots, 0.0))


class SVMAda(Late):
    def __init__(self, n_features, n_classes, kind, batch=100, max_batches=20, rho=1.0, **training):
        super().__init__(n_features, batch * max_batches, batch, **training)
        self.max_batches, self.rho = max_batches, rho

    def most_visits(self):
        return sum(range(self.batch, self.size + 1, self.batch)) * self.max_sweeps

    def best(self):
        found = []
        for h in range(1, min(self.t // self.batch, self.max_batches) + 1):
            last = self.last(h * self.batch)
            alpha = dict.fromkeys(last, 0.0)
            machine = self.trained(last, alpha)
            R2 = max(self.k(x, x) for x, _ in (self.slots[i] for i in last))
            found.append((self.estimate(machine, alpha, last[-self.batch :], R2), -h, machine))
        return min(found, key=lambda one: one[:2])[2]

    def estimate(self, machine, alpha, batch, R2):
        """Share of a batch's rows with rho alpha R^2 + xi >= 1."""
        xi = [max(0.0, 1.0 - y * self.value(machine, x)) for x, y in (self.slots[i] for i in batch)]
        return sum(self.rho * alpha[i] * R2 + slack >= 1.0 for i, slack in zip(batch, xi, strict=True)) / len(batch)
