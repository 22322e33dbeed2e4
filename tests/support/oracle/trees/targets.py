"""Trees for targets, whose leaves keep their rows."""

from __future__ import annotations

from math import floor, log, log2, sqrt

from tests.support.oracle.trees.nodes import Tree, best_of, two_best

BINS = 32


def spread(rows):
    """Weight and sum of squared deviations of the targets of (seen, y, weight) rows."""
    n = sum(w for _, _, w in rows)
    mean = sum(y * w for _, y, w in rows) / n if n else 0.0
    return n, sum(w * (y - mean) ** 2 for _, y, w in rows)


class TargetTree(Tree):
    linear = True

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

    def predictions(self, seen, node):
        """Mean, linear model, and the one that counts, of a subtree."""
        if node is None:
            return 0.0, 0.0, 0.0
        leaf = self.find(seen.x, node)
        linear = leaf.bias + sum(w * z for w, z in zip(leaf.weights, seen.z, strict=True))
        return leaf.level[1], linear, linear if leaf.errors[1] < leaf.errors[0] else leaf.level[1]

    def learn(self, seen, y, weight=1.0):
        super().learn(seen, max(-1e100, min(1e100, y)), weight)

    def learn_in(self, leaf, seen, y, weight):
        said = self.predictions(seen, leaf)
        for k in range(2 if self.linear else 0):
            leaf.errors[k] = 0.995 * leaf.errors[k] + weight * (y - said[k]) ** 2
        if self.linear:
            self.descend(leaf, seen, y, weight, said)
        leaf.level[0] = leaf.level[0] * max(1.0 - (1.0 - self.fade) * weight, 0.0) + weight
        leaf.level[1] += (y - leaf.level[1]) * weight / leaf.level[0]

    @staticmethod
    def descend(leaf, seen, y, weight, said):
        leaf.taken = min(leaf.taken + weight, 20.0)
        step = weight * (y - said[1]) / (leaf.taken + weight * (1.0 + sum(z * z for z in seen.z)))
        leaf.bias += step
        leaf.weights = [w + step * z for w, z in zip(leaf.weights, seen.z, strict=True)]

    def try_to_split(self, leaf, seen):
        n, squares = spread(leaf.rows)
        found = []
        for j in leaf.columns:
            tests = []
            for test, left, right in self.tests(leaf, j):
                (a, below), (b, above) = spread(left), spread(right)
                if min(a, b) >= 0.01 * n:
                    tests.append((squares - below - above, test, left, right))
            found.append(best_of(tests))
        best, second = two_best(found, 0.0)
        if best is None or best[0] / squares < 0.005:
            return
        gain, test, *sides = best
        epsilon = sqrt(log(1.0 / self.delta) / (2.0 * n))
        if second / gain < 1.0 - epsilon or epsilon < self.tie:
            self.split(leaf, test, [(spread(a)[0], sum(y * w for _, y, w in a) / spread(a)[0]) for a in sides])

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
