"""`auto` on targets."""

from __future__ import annotations

from math import exp, sqrt

from tests.support.oracle.auto.experts import Window
from tests.support.oracle.forgetting import DFOP
from tests.support.oracle.protocol import inner


def bounded(value, most):
    return min(max(value, -most), most)


class Past:
    """Targets so far: their mean and deviation, that of their changes, and the last five, the newest first."""

    def __init__(self):
        self.rows, self.mean, self.squares, self.changes, self.last = 0, 0.0, 0.0, 0.0, [0.0] * 5

    def deviation(self, squares):
        return sqrt(squares / self.rows) if self.rows and squares > 0.0 else 1.0

    def of_levels(self):
        return self.deviation(self.squares)

    def of_changes(self):
        return self.deviation(self.changes)

    def level(self, y):
        return (y - self.mean) / self.of_levels()

    def row(self, z):
        """The features, a constant 1, the last target, and the four changes before it."""
        changes = [(a - b) / self.of_changes() for a, b in zip(self.last, self.last[1:], strict=False)]
        return [*z, bounded(self.level(self.last[0]), 10.0), *(bounded(change, 6.0) for change in changes)]

    def learn(self, y):
        if self.rows == 0:
            self.last = [y] * 5
        self.rows += 1
        self.changes += (y - self.last[0]) ** 2
        away = y - self.mean
        self.mean += away / self.rows
        self.squares += away * (y - self.mean)
        self.last = [y, *self.last[:4]]


class Steps:
    """Along the row towards the target."""

    def __init__(self, d, rate):
        self.w, self.rate = [0.0] * d, rate

    def say(self, x):
        return inner(self.w, x)

    def learn(self, x, y):
        step = self.rate * (y - self.say(x)) / inner(x, x)
        self.w = [p + step * q for p, q in zip(self.w, x, strict=True)]


class LeastSquares:
    """`dfop`, given its factor."""

    def __init__(self, d, keep):
        self.inner = DFOP(d, 0, "regression", mu=0.0, intercept=False)
        self.inner.forgetting = keep

    def say(self, x):
        return self.inner.score(x)[0]

    def learn(self, x, y):
        self.inner.learn(x, y)


def with_products(z, u):
    """Half the products of features, or of more than 12 half their squares, before u."""
    x = z[:-1]
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1)] if len(x) <= 12 else [(i, i) for i in range(len(x))]
    return [0.5 * x[i] * x[j] for i, j in pairs] + u


class Stacking:
    """The mean by how well experts did of late, and the same put right by a Kalman filter on how far each is off."""

    def __init__(self, E):
        self.loss, self.of_both, self.share = [0.0] * E, [0.0, 0.0], [1.0 / E] * E
        self.weight, self.P = [0.0] * E, [[0.05 * (i == j) for j in range(E)] for i in range(E)]

    def variance(self):
        return max(0.01 * min(self.loss), 1e-9)

    def both(self, said):
        mean = inner(self.share, said)
        away = [s - mean for s in said]
        return away, (mean, bounded(mean + inner(self.weight, away), 10.0))

    def say(self, said):
        said = [bounded(s, 10.0) for s in said]
        _, (mean, corrected) = self.both(said)
        ahead = (self.of_both[0] - self.of_both[1]) / (2.0 * self.variance())
        likely = exp(bounded(-ahead, 50.0))
        return (likely * mean + corrected) / (likely + 1.0)

    def learn(self, said, y):
        said = [bounded(s, 10.0) for s in said]
        away, both = self.both(said)
        self.loss = [0.99 * loss + (y - s) ** 2 for loss, s in zip(self.loss, said, strict=True)]
        self.of_both = [0.99 * loss + (y - s) ** 2 for loss, s in zip(self.of_both, both, strict=True)]
        behind = [(loss - min(self.loss)) / (2.0 * self.variance()) for loss in self.loss]
        likely = [exp(-min(far, 50.0)) for far in behind]
        self.share = [one / sum(likely) for one in likely]
        for i in range(len(said)):
            self.P[i][i] += 1e-6 if self.P[i][i] < 0.05 else 0.0
        k = [inner(row, away) for row in self.P]
        total = max(0.01 * self.of_both[1], 1e-9) + max(inner(away, k), 0.0)
        self.weight = [w + (y - both[1]) * one / total for w, one in zip(self.weight, k, strict=True)]
        self.P = [[entry - k[i] * k[j] / total for j, entry in enumerate(row)] for i, row in enumerate(self.P)]


class Targets:
    """All experts and the mixture, on rows that are scaled already."""

    def __init__(self, n, affordable):
        u, keeps = n + 6, (1.0, 0.999, 0.98)
        q = u + (n * (n + 1) // 2 if n <= 12 else n)
        squares, curves, near = affordable([6 * u**2 + 6 * (n + 1) ** 2, 4 * q**2, 512 * n], [2.5, 2.5, 1.0])
        self.past = Past()
        self.on_changes = [Steps(u, 0.05), Steps(u, 0.3)]
        self.on_changes += [LeastSquares(u, keep) for keep in keeps] if squares else []
        self.on_curves = [LeastSquares(q, keep) for keep in keeps[:2]] if curves else []
        self.on_levels = [LeastSquares(n + 1, keep) for keep in keeps] if squares else []
        self.window = Window() if near else None
        # Neighbours correct the expert on changes with the most inputs, of the memories that of a thousand rows.
        before = 2 + len(self.on_changes)
        self.best = before + 1 if curves else 5 if squares else 3
        E = 2 + len(self.on_changes) + len(self.on_curves) + len(self.on_levels) + near
        self.stacking = Stacking(E)

    def said(self, z):
        past, u = self.past, self.past.row(z)
        last, ratio = past.level(past.last[0]), past.of_changes() / past.of_levels()
        said = [0.0, last]
        said += [last + ratio * expert.say(u) for expert in self.on_changes]
        said += [last + ratio * expert.say(with_products(z, u)) for expert in self.on_curves]
        said += [expert.say(z) for expert in self.on_levels]
        if self.window:
            said.append(said[self.best] + self.by_neighbours(z) / past.of_levels())
        return said

    def by_neighbours(self, z):
        """Mean of what the best expert has left of the nearest rows' targets."""
        return sum(self.window.nearest(z)) / 5 if self.window.taken >= 25 else 0.0

    def score(self, z):
        z = [*z, 1.0]
        return [self.stacking.say(self.said(z)) * self.past.of_levels() + self.past.mean]

    def learn(self, z, y):
        z, y = [*z, 1.0], bounded(y, 1e100)
        past, u, said = self.past, self.past.row(z), self.said(z)
        level = bounded(past.level(y), 10.0)
        change = bounded((level - said[1]) * past.of_levels() / past.of_changes(), 10.0)
        self.stacking.learn(said, level)
        if self.window:
            self.window.keep(z, (level - bounded(said[self.best], 10.0)) * past.of_levels())
        for expert in self.on_changes:
            expert.learn(u, change)
        for expert in self.on_curves:
            expert.learn(with_products(z, u), change)
        for expert in self.on_levels:
            expert.learn(z, level)
        past.learn(y)
