"""Trees for targets, whose leaves keep their rows."""

from __future__ import annotations

from math import floor, log, log2, sqrt

from tests.support.oracle.trees.nodes import Tree

BINS = 32


def spread(rows):
    """Weight and sum of squared deviations of the targets of (seen, y, weight) rows."""
    n = sum(w for _, _, w in rows)
    mean = sum(y * w for _, y, w in rows) / n if n else 0.0
    return n, sum(w * (y - mean) ** 2 for _, y, w in rows)


class TargetTree(Tree):
    def __init__(self, fade, *arguments, **more):
        self.fade = fade
        super().__init__(*arguments, **more)

    def begin(self, leaf, y):
        leaf.level, leaf.weights, leaf.bias, leaf.taken = [0.0, 0.0], [0.0] * self.d, y, 0.0
        leaf.errors = [0.0, 0.0]

    def expect(self, child, leaf, expected):
        n, mean = expected
        child.level = [min(n, 20.0), mean]
        child.weights, child.bias, child.taken = list(leaf.weights), leaf.bias, leaf.taken
        child.errors = list(leaf.errors)

    def predictions(self, seen):
        """Mean, linear model, and the one that counts."""
        leaf = self.find(seen.x)
        if leaf is None:
            return 0.0, 0.0, 0.0
        linear = leaf.bias + sum(w * z for w, z in zip(leaf.weights, seen.z, strict=True))
        return leaf.level[1], linear, linear if leaf.errors[1] < leaf.errors[0] else leaf.level[1]

    def learn(self, seen, y, weight=1.0):
        self.said = self.predictions(seen)
        super().learn(seen, max(-1e100, min(1e100, y)), weight)

    def learn_in(self, leaf, seen, y, weight):
        for k in range(2):
            leaf.errors[k] = 0.995 * leaf.errors[k] + weight * (y - self.said[k]) ** 2
        leaf.taken = min(leaf.taken + weight, 20.0)
        step = weight * (y - self.said[1]) / (leaf.taken + weight * (1.0 + sum(z * z for z in seen.z)))
        leaf.bias += step
        leaf.weights = [w + step * z for w, z in zip(leaf.weights, seen.z, strict=True)]
        leaf.level[0] = leaf.level[0] * max(1.0 - (1.0 - self.fade) * weight, 0.0) + weight
        leaf.level[1] += (y - leaf.level[1]) * weight / leaf.level[0]

    def try_to_split(self, leaf, seen):
        n, squares = spread(leaf.rows)
        found = []
        for j in leaf.columns:
            tests = [(squares - spread(a)[1] - spread(b)[1], test, a) for test, a, b in self.tests(leaf, j)]
            tests = [one for one in tests if 0.01 * n <= spread(one[2])[0] <= 0.99 * n]
            found.append(max(tests, key=lambda one: one[0], default=(0.0, None, None)))
        ranked = sorted((one for one in found if one[0] > 0.0), key=lambda one: -one[0])
        if not ranked or ranked[0][0] / squares < 0.005:
            return
        gain, test, left = ranked[0]
        second = ranked[1][0] if len(ranked) > 1 else 0.0
        epsilon = sqrt(log(1.0 / self.delta) / (2.0 * n))
        if second / gain < 1.0 - epsilon or epsilon < self.tie:
            right = [row for row in leaf.rows if row not in left]
            self.split(leaf, test, [(spread(a)[0], sum(y * w for _, y, w in a) / spread(a)[0]) for a in (left, right)])

    def tests(self, leaf, j):
        """(test, rows on the left, rows on the right)."""
        if j in self.nominal:
            borders = [((j, True, v), lambda s, v=v: s.x[j] == v) for v in range(BINS)]
        else:
            width = self.width(leaf, j)
            bins = sorted({floor(s.x[j] / width) for s, _, _ in leaf.rows})
            borders = [((j, False, (b + 1) * width), lambda s, b=b: floor(s.x[j] / width) <= b) for b in bins[:-1]]
        for test, goes in borders:
            left = [row for row in leaf.rows if goes(row[0])]
            if 0 < len(left) < len(leaf.rows):
                yield test, left, [row for row in leaf.rows if not goes(row[0])]

    @staticmethod
    def width(leaf, j):
        """The width of bins that the leaf's values have led to, in their order."""
        first = leaf.rows[0][0]
        wanted = first.scale[j] / 64.0 if first.scale[j] > 0.0 else max(abs(first.x[j]), 1e-100) / 1024.0
        width = 2.0 ** floor(log2(wanted))
        base = floor(first.x[j] / width) - BINS // 2
        for seen, _, _ in leaf.rows:
            while not 0 <= floor(seen.x[j] / width) - base < BINS:
                base, width = base // 2 - BINS // 4, width * 2.0
        return width
