"""Forests: trees that learn rows with random weights, and are replaced where their errors increase."""

from __future__ import annotations

from math import isqrt, log

from tests.support.oracle.drift import ADWIN
from tests.support.oracle.random import Xoshiro
from tests.support.oracle.trees.adaptive import ErrorScale
from tests.support.oracle.trees.classes import ClassTree
from tests.support.oracle.trees.rows import Rows
from tests.support.oracle.trees.targets import TargetTree


class Alarm:
    def __init__(self, delta):
        self.adwin = ADWIN(delta)

    def increased(self, error):
        before = self.adwin.total / max(self.adwin.width, 1)
        found = self.adwin.update(error) == "drift"
        return found and self.adwin.total / max(self.adwin.width, 1) > before


class Place:
    """A tree, its record, and the generator of its place."""

    def __init__(self, tree):
        self.tree, self.right, self.rows = tree, 0, 0

    def reset(self):
        self.tree.reset()
        self.right = self.rows = 0


class Member:
    """A tree, and perhaps one in the background."""

    def __init__(self, first, second, warning, drift):
        self.active, self.spare, self.waiting = Place(first), Place(second), False
        self.deltas = warning, drift
        self.alarms = [Alarm(delta) for delta in self.deltas]

    def watch(self, error):
        """Return whether the tree that predicts was reset."""
        warned, drifted = [alarm.increased(error) for alarm in self.alarms]
        if drifted:
            gone = self.active
            if self.waiting:
                self.active, self.spare, self.waiting = self.spare, self.active, False
            gone.reset()
            self.alarms = [Alarm(delta) for delta in self.deltas]
            return gone is self.active
        if warned:
            self.spare.reset()
            self.waiting = True
        return False


class Forest:
    def __init__(
        self, d, K, kind, q, m, trees=10, weight=6.0, grace=50, delta=0.01, tie=0.05, warning=0.01, drift=0.001,
        max_leaves=64, nominal="none", seed=1,
    ):  # fmt: skip
        self.kind, self.rows, self.weight, self.rng = kind, Rows(d, nominal), weight, Xoshiro(seed)
        given = d, self.rows.nominal, grace, delta, tie, max_leaves
        self.scale = ErrorScale()

        def tree(t):
            more = {"q": q, "m": m, "rng": Xoshiro(seed + 1 + t)}
            return TargetTree(1.0, *given, **more) if kind == "regression" else ClassTree(K, *given, **more)

        self.members = [Member(tree(t), tree(trees + t), warning, drift) for t in range(trees)]

    def says(self, place, seen):
        tree = place.tree
        return (tree.predictions if self.kind == "regression" else tree.opinion)(seen, tree.root)

    def score(self, x):
        seen = self.rows.seen(x)
        said = [self.says(one.active, seen) for one in self.members]
        if self.kind == "regression":
            return [sum(value for _, _, value in said) / len(said)]
        weights = [(one.active.right + 1.0) / (one.active.rows + 2.0) for one in self.members]
        classes = range(len(said[0][0]))
        p = [sum(w * one[0][c] for w, one in zip(weights, said, strict=True)) / sum(weights) for c in classes]
        return [log(p[1]) - log(p[0])] if self.kind == "binary" else [log(one) for one in p]

    def learn(self, x, y):
        seen, value = self.rows.seen(x), self.score(x)[0]
        regression = self.kind == "regression"
        y = y if regression else int(y)
        for one in self.members:
            places = [one.active, one.spare][: 1 + one.waiting]
            said = [self.says(place, seen) for place in places]
            k = self.rng.poisson(self.weight)
            for place, opinion in zip(places, said, strict=True):
                if not regression:
                    place.rows += 1
                    place.right += opinion[0].index(max(opinion[0])) == y
                if k:
                    place.tree.learn(seen, y, float(k))
            wrong = self.scale.loss(y - said[0][2]) if regression else float(said[0][0].index(max(said[0][0])) != y)
            if one.watch(wrong):
                one.active.tree.learn(seen, y, 1.0)
        if regression:
            self.scale.add(y - value)
        self.rows.learn(x)


class AdaptiveRandomForest(Forest):
    def __init__(self, d, K, kind, columns=0, **parameters):
        super().__init__(d, K, kind, d, min(columns or isqrt(d) + 1, d), **parameters)


class StreamingRandomPatches(Forest):
    def __init__(self, d, K, kind, share=0.6, warning=1e-4, drift=1e-5, **parameters):
        m = round(share * d)
        m = min(m + (m < 2), d)
        super().__init__(d, K, kind, m, m, warning=warning, drift=drift, **parameters)
