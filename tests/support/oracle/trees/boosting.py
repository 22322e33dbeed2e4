"""Boosted trees: each learns what those before it leave of the loss."""

from __future__ import annotations

from math import exp

from tests.support.oracle.random import Xoshiro
from tests.support.oracle.trees.adaptive import ErrorScale
from tests.support.oracle.trees.forests import Alarm
from tests.support.oracle.trees.rows import Rows
from tests.support.oracle.trees.targets import TargetTree


class StreamingGradientBoosting:
    def __init__(
        self, d, K, kind, steps=30, rate=0.2, share=0.75, grace=10, delta=0.2, tie=0.05, drift=0.002, max_leaves=16,
        nominal="none", seed=1,
    ):  # fmt: skip
        self.kind, self.K, self.rate, self.drift = kind, K, rate, drift
        self.rows, self.scale, self.mean, self.n = Rows(d, nominal), ErrorScale(), 0.0, 0
        self.C, m = K if kind == "multiclass" else 1, round(share * d)
        m = min(m + (m < 2), d)
        given = 1.0, d, self.rows.nominal, grace, delta, tie, max_leaves
        self.trees = [TargetTree(*given, m, m, Xoshiro(seed + t)) for t in range(steps * self.C)]
        self.alarms = [Alarm(drift) for _ in self.trees]
        for tree in self.trees:
            tree.linear = kind == "regression"

    def said(self, tree, seen):
        return tree.predictions(seen, tree.root)[2]

    def score(self, x):
        seen = self.rows.seen(x)
        F = [self.mean] * self.C
        for t, tree in enumerate(self.trees):
            F[t % self.C] += self.rate * self.said(tree, seen)
        return F

    def teach(self, t, seen, wanted, weight, losses):
        tree = self.trees[t]
        off = wanted - self.said(tree, seen)
        tree.learn(seen, wanted, weight)
        if self.alarms[t].increased(losses(off)):
            self.alarms[t] = Alarm(self.drift)
            tree.reset()
            tree.learn(seen, wanted, weight)
        self.scale.add(off)

    def learn(self, x, y):
        seen, scale = self.rows.seen(x), ErrorScale()
        scale.square = self.scale.square  # errors of one row are relative to those of earlier rows
        said = [self.said(tree, seen) for tree in self.trees]
        if self.kind == "regression":
            left = y - self.mean
            for t, value in enumerate(said):
                self.teach(t, seen, left, 1.0, scale.loss)
                left -= self.rate * value
            self.n += 1
            self.mean += (y - self.mean) * max(1.0 / self.n, 0.001)
        else:
            F = [0.0] * self.K
            for first in range(0, len(said), self.C):
                odds = [exp(f - max(F)) for f in F]
                for t in range(first, first + self.C):
                    c = t % self.C if self.C > 1 else 1
                    p = odds[c] / sum(odds)
                    curvature = max(p * (1.0 - p), 1e-3)
                    self.teach(t, seen, ((y == c) - p) / curvature, curvature, scale.loss)
                    F[c] += self.rate * said[t]
        self.rows.learn(x)
