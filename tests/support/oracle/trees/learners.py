"""The learners of docs/algorithms/trees.md."""

from __future__ import annotations

from math import log

from tests.support.oracle.trees.adaptive import ErrorScale, Watch
from tests.support.oracle.trees.classes import ClassTree
from tests.support.oracle.trees.rows import Rows
from tests.support.oracle.trees.targets import TargetTree


class HoeffdingTree:
    def __init__(self, d, K, kind, grace=200, delta=1e-7, tie=0.05, max_leaves=128, nominal="none"):
        self.kind, self.rows = kind, Rows(d, nominal)
        given = d, self.rows.nominal, grace, delta, tie, max_leaves
        self.tree = TargetTree(1.0, *given) if kind == "regression" else ClassTree(K, *given)

    def score(self, x):
        seen = self.rows.seen(x)
        if self.kind == "regression":
            return [self.tree.predictions(seen, self.tree.root)[2]]
        p, _, _ = self.tree.opinion(seen, self.tree.root)
        return [log(p[1]) - log(p[0])] if self.kind == "binary" else [log(one) for one in p]

    def learn(self, x, y):
        self.tree.learn(self.rows.seen(x), y if self.kind == "regression" else int(y))
        self.rows.learn(x)


class HoeffdingAdaptiveTree(HoeffdingTree):
    def __init__(self, d, K, kind, drift=0.002, max_leaves=64, **parameters):
        super().__init__(d, K, kind, max_leaves=max_leaves, **parameters)
        self.scale, tree = ErrorScale(), self.tree
        tree.reserve = max_leaves // 4
        self.says = tree.predictions if kind == "regression" else tree.opinion
        self.watch = Watch(tree, drift, self.says, self.loss)

    def loss(self, said, y):
        if self.kind == "regression":
            return self.scale.loss(y - said[2])
        return float(said[0].index(max(said[0])) != y)

    def learn(self, x, y):
        seen, y = self.rows.seen(x), y if self.kind == "regression" else int(y)
        said = self.says(seen, self.tree.root)
        error = self.loss(said, y)
        self.tree.learn(seen, y)
        if self.tree.root is not None:
            self.watch.walk(seen, y, error)
        if self.kind == "regression":
            self.scale.add(y - said[2])
        self.rows.learn(x)
