"""Additive experts, bags and periodically renewed pools; experts are oracles.

See docs/algorithms/ensembles.md#ensembles.
"""

from __future__ import annotations

import math
import statistics

from tests.support.oracle.ensembles import BASES, Expert, elected, shares
from tests.support.oracle.least_squares import DFOP
from tests.support.oracle.random import Xoshiro

BASES["dfop"] = DFOP


def base_of(base, kind):
    """Resolve the base `default`."""
    return {"default": "rls" if kind == "regression" else "gaussian_nb"}.get(base, base)


class AddExp:
    """Base of both forms; `self.experts` is ordered from oldest to newest."""

    def __init__(self, n_features, n_classes, kind, base, most, prune):
        self.n_classes, self.most, self.prune = n_classes, most, prune
        self.fresh = lambda weight: Expert(base, n_features, n_classes, kind, weight)
        self.experts = [self.fresh(1.0)]

    def total(self):
        return sum(e.weight for e in self.experts)

    def bear(self, weight):
        born = self.fresh(weight)
        if len(self.experts) == self.most:
            oldest = self.prune == "oldest"
            self.experts.remove(self.experts[0] if oldest else min(self.experts, key=lambda e: e.weight))
        self.experts.append(born)

    def train(self, x, y):
        total = self.total()
        for e in self.experts:
            e.learn(x, y)
            e.weight /= total


class AddExpD(AddExp):
    def __init__(
        self, n_features, n_classes, kind, base="gaussian_nb", beta=0.5, gamma=0.1, max_experts=10, prune="weakest",
        new_weight="after",
    ):  # fmt: skip
        super().__init__(n_features, n_classes, kind, base, max_experts, prune)
        self.beta, self.gamma, self.before = beta, gamma, new_weight == "before"

    def score(self, x):
        return shares([e.vote(x) for e in self.experts], [e.weight for e in self.experts], self.n_classes)

    def learn(self, x, y):
        votes, before = [e.vote(x) for e in self.experts], self.total()
        wrong = elected(votes, [e.weight for e in self.experts], self.n_classes) != y
        for e, vote in zip(self.experts, votes, strict=True):
            if vote != y:
                e.weight *= self.beta
        if wrong:
            self.bear(self.gamma * (before if self.before else self.total()))
        self.train(x, y)


class AddExpC(AddExp):
    def __init__(
        self, n_features, n_classes, kind, base="rls", beta=0.5, gamma=0.1, tau=0.05, max_experts=10, prune="weakest",
        y_min=0.0, y_max=0.0,
    ):  # fmt: skip
        super().__init__(n_features, n_classes, kind, base, max_experts, prune)
        self.beta, self.gamma, self.tau = beta, gamma, tau
        self.range = (y_min, y_max) if y_min < y_max else None
        self.seen = []

    def ends(self):
        return self.range or (min(self.seen, default=0.0), max(self.seen, default=0.0))

    def place(self, value):
        low, high = self.ends()
        return (min(max(value, low), high) - low) / (high - low) if high > low else 0.0

    def mean(self, places):
        return sum(e.weight * xi for e, xi in zip(self.experts, places, strict=True)) / self.total()

    def score(self, x):
        low, high = self.ends()
        return [low + (high - low) * self.mean([self.place(e.one.score(x)[0]) for e in self.experts])]

    def learn(self, x, y):
        self.seen.append(y)
        places, target = [self.place(e.one.score(x)[0]) for e in self.experts], self.place(y)
        wrong = abs(self.mean(places) - target) >= self.tau
        errors = [abs(xi - target) for xi in places]
        missed = sum(e.weight * error for e, error in zip(self.experts, errors, strict=True))
        for e, error in zip(self.experts, errors, strict=True):
            e.weight *= self.beta**error
        if wrong:
            self.bear(self.gamma * missed)
        self.train(x, y)


class OnlineBagging:
    def __init__(self, n_features, n_classes, kind, base="default", n=10, seed=1):
        self.kind, self.n_classes = kind, n_classes
        self.experts = [Expert(base_of(base, kind), n_features, n_classes, kind) for _ in range(n)]
        self.random = Xoshiro(seed)

    def score(self, x):
        n = len(self.experts)
        if self.kind == "regression":
            return [math.fsum(e.one.score(x)[0] for e in self.experts) / n]
        return shares([e.vote(x) for e in self.experts], [1.0] * n, self.n_classes)

    def learn(self, x, y):
        for e in self.experts:
            for _ in range(self.random.poisson(1.0)):
                e.learn(x, y)


LINKED = {"gaussian_nb", "ogd_logistic"}
"""Bases whose scores are log-odds, or logarithms of unnormalised probabilities."""


class OAUE:
    """Keeps all errors of each expert and all labels, and averages the last `window` of them."""

    def __init__(self, n_features, n_classes, kind, base="default", window=500, n=10):
        self.kind, self.n_classes, self.window, self.most = kind, n_classes, window, n
        self.base = base_of(base, kind)
        self.fresh = lambda: Expert(self.base, n_features, n_classes, kind)
        self.experts, self.errors, self.candidate, self.past = [], [], self.fresh(), []

    def outputs(self, e, x):
        """Class probabilities, or the predicted target."""
        s = e.one.score(x)
        if self.kind == "regression":
            return s
        if self.base.partition("/")[0] not in LINKED:
            return [float(e.vote(x) == c) for c in range(self.n_classes)]
        if self.kind == "binary":
            s = [0.0, s[0]]
        return [1.0 / math.fsum(math.exp(min(b - a, 700.0)) for b in s) for a in s]

    def mix(self, x):
        experts = self.experts or [self.candidate]
        weights, outputs = [e.weight for e in experts], [self.outputs(e, x) for e in experts]
        columns = zip(*outputs, strict=True)
        return [sum(w * o for w, o in zip(weights, c, strict=True)) / sum(weights) for c in columns]

    def score(self, x):
        mixed = self.mix(x)
        return [mixed[1] - mixed[0]] if self.kind == "binary" else mixed

    def guess(self):
        last = self.past[-self.window :]
        if self.kind == "regression":
            mean = math.fsum(last) / len(last)
            return math.fsum((y - mean) ** 2 for y in last) / len(last)
        shares_of = [last.count(float(c)) / len(last) for c in range(self.n_classes)]
        return math.fsum(p * (1.0 - p) ** 2 for p in shares_of)

    def learn(self, x, y):
        self.past.append(y)
        guess = self.guess()
        for e, errors in zip(self.experts, self.errors, strict=True):
            out = self.outputs(e, x)
            errors.append((out[0] - y) ** 2 if self.kind == "regression" else (1.0 - out[int(y)]) ** 2)
            last = errors[-self.window :]
            e.weight = 1.0 / (guess + math.fsum(last) / len(last) + 1e-12)
        for e in (*self.experts, self.candidate):
            e.learn(x, y)
        if len(self.past) % self.window == 0:
            self.join(guess)

    def join(self, guess):
        joins, self.candidate = self.candidate, self.fresh()
        joins.weight = 1.0 / (guess + 1e-12)
        if len(self.experts) < self.most:
            self.experts.append(joins)
            self.errors.append([])
            return
        i = min(range(self.most), key=lambda j: self.experts[j].weight)
        if self.experts[i].weight < joins.weight:
            self.experts[i], self.errors[i] = joins, []


class LearnPPNSE:
    """Each expert has the number `born` of its batch, and its beta on every batch since."""

    def __init__(
        self, n_features, n_classes, kind, base="default", batch=250, a=0.5, b=10.0, max_members=15, prune="age"
    ):
        self.kind, self.n_classes, self.batch, self.a, self.b = kind, n_classes, batch, a, b
        self.most, self.prune = max_members, prune
        self.fresh = lambda: Expert(base_of(base, kind), n_features, n_classes, kind, 0.0)
        self.experts, self.rows, self.t = [], [], 0

    def score(self, x):
        if self.kind == "regression":
            return [self.mean(x)]
        if not any(e.weight for e in self.experts):
            return [0.0] * (1 if self.n_classes == 2 else self.n_classes)
        return shares([e.vote(x) for e in self.experts], [e.weight for e in self.experts], self.n_classes)

    def mean(self, x):
        """Weighted mean of the experts' outputs; without experts, the mean target so far."""
        if not self.experts:
            return statistics.fmean([y for _, y in self.rows] or [0.0])
        weights = [e.weight for e in self.experts]
        weights = weights if any(weights) else [1.0] * len(weights)
        return math.fsum(w * e.one.score(x)[0] for w, e in zip(weights, self.experts, strict=True)) / math.fsum(weights)

    def judged(self):
        """Which rows the ensemble predicts correctly, and its error E."""
        if not self.experts:
            return [True] * len(self.rows), 0.0
        if self.kind == "regression":
            off = [abs(self.mean(x) - y) for x, y in self.rows]
            return [o <= statistics.median(off) for o in off], statistics.fmean(off) / (max(off) or 1.0)
        right = [self.right(*row) for row in self.rows]
        return right, right.count(False) / len(right)

    def right(self, x, y):
        return elected([e.vote(x) for e in self.experts], [e.weight for e in self.experts], self.n_classes) == y

    def learn(self, x, y):
        self.rows.append((x, y))
        if len(self.rows) < self.batch:
            return
        self.t += 1
        right, error = self.judged()
        D = [error if good and error else 1.0 for good in right]
        D = [weight / math.fsum(D) for weight in D]
        errs = [self.error(e, D) for e in self.experts]
        if len(self.experts) == self.most:
            removed = errs.index(max(errs)) if self.prune == "error" else 0
            del self.experts[removed], errs[removed]
        newborn = self.fresh()
        for row in self.rows:
            newborn.learn(*row)
        newborn.born, newborn.betas = self.t, []
        self.experts.append(newborn)
        for e, err in zip(self.experts, [*errs, self.error(newborn, D)], strict=True):
            halved = min(err, 0.5)
            e.betas.append(max(halved / (1.0 - halved), 1e-10))
            omegas = [1.0 / (1.0 + math.exp(-self.a * (j - self.b))) for j in range(len(e.betas))]
            mean = math.fsum(w * beta for w, beta in zip(omegas, e.betas, strict=True)) / math.fsum(omegas)
            e.weight = max(-math.log(mean), 0.0)
        self.rows = []

    def error(self, e, D):
        if self.kind == "regression":
            off = [abs(e.one.score(x)[0] - y) for x, y in self.rows]
            return math.fsum(weight * o for weight, o in zip(D, off, strict=True)) / (max(off) or 1.0)
        return math.fsum(weight for weight, (x, y) in zip(D, self.rows, strict=True) if e.vote(x) != y)
