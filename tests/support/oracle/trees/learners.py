"""The learners of docs/algorithms/trees.md."""

from __future__ import annotations

from math import log

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
            return [self.tree.predictions(seen)[2]]
        p, _, _ = self.tree.opinion(seen)
        return [log(p[1]) - log(p[0])] if self.kind == "binary" else [log(one) for one in p]

    def learn(self, x, y):
        self.tree.learn(self.rows.seen(x), y)
        self.rows.learn(x)
