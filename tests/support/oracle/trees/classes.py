"""Trees for classes, whose leaves keep their rows."""

from __future__ import annotations

from math import erfc, exp, log, log2, sqrt

from tests.support.oracle.trees.nodes import Tree, best_of, two_best

IDS = 32


def entropy(weights):
    total = sum(weights)
    return -sum(w / total * log2(w / total) for w in weights if w > 0) if total > 0 else 0.0


def moments(pairs):
    """Weight, mean and variance of (value, weight) pairs."""
    n = sum(w for _, w in pairs)
    mean = sum(v * w for v, w in pairs) / n
    return n, mean, sum(w * (v - mean) ** 2 for v, w in pairs) / n


class ClassTree(Tree):
    def __init__(self, K, *arguments, **more):
        self.K = K
        super().__init__(*arguments, **more)

    def begin(self, leaf, y):
        leaf.prior, leaf.hits = [0.0] * self.K, [0.0, 0.0]

    def expect(self, child, leaf, expected):
        child.prior, child.hits = expected, [0.0, 0.0]

    def counts(self, leaf):
        return [sum(w for _, y, w in leaf.rows if y == c) for c in range(self.K)]

    def opinion(self, seen, node):
        """Probabilities, the class by the counts, and the class by naive Bayes, of a subtree."""
        if node is None:
            return [1.0 / self.K] * self.K, 0, 0
        leaf = self.find(seen.x, node)
        expected = [n + p for n, p in zip(self.counts(leaf), leaf.prior, strict=True)]
        most = expected.index(max(expected))
        p = [(n + 1.0 / self.K) / (sum(expected) + 1.0) for n in expected]
        if not leaf.rows:
            return p, most, most
        logs = [self.log_likelihood(leaf, seen, c) for c in range(self.K)]
        top = max(one for one in logs if one is not None)
        best = logs.index(top)
        if leaf.hits[1] >= leaf.hits[0]:
            odds = [exp(-30.0 if one is None else max(one - top, -30.0)) for one in logs]
            p = [one / sum(odds) for one in odds]
        return p, most, best

    def log_likelihood(self, leaf, seen, c):
        rows = [(one, w) for one, y, w in leaf.rows if y == c]
        if not rows:
            return None
        n = sum(w for _, w in rows)
        total = log(n + leaf.prior[c])
        for j in leaf.columns:
            if j in self.nominal:
                equal = sum(w for one, w in rows if one.x[j] == seen.x[j])
                total += log((equal + 1.0 / IDS) / (n + 1.0))
            else:
                _, mean, variance = moments([(one.x[j], w) for one, w in rows])
                variance = max(variance + 0.01 * seen.scale[j] ** 2 / n, 1e-200)
                total -= 0.5 * (log(variance) + (seen.x[j] - mean) ** 2 / variance)
        return total

    def learn_in(self, leaf, seen, y, weight):
        _, most, best = self.opinion(seen, leaf)
        leaf.hits[0] += weight * (most == y)
        leaf.hits[1] += weight * (best == y)

    def try_to_split(self, leaf, seen):
        counts = self.counts(leaf)
        if sum(n > 0 for n in counts) < 2:
            return
        found = [best_of(self.splits(leaf, j, counts)) for j in leaf.columns]
        best, second = two_best(found, 1e-9 / log(2.0))
        if best is None:
            return
        gain, test, left = best
        R = log2(sum(n > 0 for n in counts))
        epsilon = R * sqrt(log(1.0 / self.delta) / (2.0 * (sum(counts) + sum(leaf.prior))))
        if gain - second > epsilon or epsilon < self.tie:
            self.split(leaf, test, [left, [max(n - m, 0.0) for n, m in zip(counts, left, strict=True)]])

    def splits(self, leaf, j, counts):
        """(gain, test, classes on the left) of every test of a column that leaves a hundredth on each side."""
        for test, left in self.tests(leaf, j, counts):
            right = [n - m for n, m in zip(counts, left, strict=True)]
            n, a, b = sum(counts), sum(left), sum(right)
            if a >= 0.01 * n and b >= 0.01 * n:
                yield entropy(counts) - (a * entropy(left) + b * entropy(right)) / n, test, left

    def tests(self, leaf, j, counts):
        classes = range(self.K)
        if j in self.nominal:
            for v in range(IDS):
                yield (j, True, v), [sum(w for s, y, w in leaf.rows if y == c and s.x[j] == v) for c in classes]
            return
        _, mean, variance = moments([(s.x[j], w) for s, _, w in leaf.rows])
        values = [s.x[j] for s, _, _ in leaf.rows]
        low, high = max(min(values), mean - 3.0 * sqrt(variance)), min(max(values), mean + 3.0 * sqrt(variance))
        known = {c: [(s.x[j], w) for s, y, w in leaf.rows if y == c] for c in classes if counts[c] > 0}
        for b in range(1, 11) if low < high else ():
            t = low + (high - low) * b / 11.0
            yield (j, False, t), [self.below_threshold(known[c], t) if c in known else 0.0 for c in classes]

    @staticmethod
    def below_threshold(pairs, t):
        n, mean, variance = moments(pairs)
        if t <= min(v for v, _ in pairs):
            return 0.0
        if t > max(v for v, _ in pairs):
            return n
        if variance <= 0.0:
            return n * (mean < t)
        return n * 0.5 * erfc((mean - t) / sqrt(2.0 * variance))
