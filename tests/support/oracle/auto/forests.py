"""The forests of `auto`: trees of objects, whose leaves keep their rows and count them anew at every attempt."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from tests.support.oracle.auto.experts import RisenLoss
from tests.support.oracle.random import Xoshiro


def rounded(value):
    """To 32 bits, as class counts of leaves and sums per bin are kept."""
    return float(np.float32(value))


class Leaf:
    """A leaf, or after a split an inner node; `rows` is None if it has no slot and so never splits."""

    def __init__(self, content):
        self.content, self.rows, self.observed, self.tried = content, None, [], 0
        self.feature, self.last, self.children = None, None, None

    def find(self, bins):
        return self if self.children is None else self.children[bins[self.feature] > self.last].find(bins)


class Forest:
    """What both kinds share: bagging, slots, and when a leaf tries to split.

    `columns` are the features that it sees, `slots` and `nodes` the room of each tree.
    """

    def __init__(self, trees, seed, columns, observed, slots, nodes):
        self.generator, self.columns, self.observed = Xoshiro(seed), columns, observed
        self.most_slots, self.most_nodes = slots, nodes
        self.gain = dict.fromkeys(columns, 0.0)
        self.trees, self.slots, self.nodes = [Leaf(self.empty()) for _ in range(trees)], [0] * trees, [0] * trees

    def begin(self, t):
        self.trees[t], self.slots[t], self.nodes[t] = Leaf(self.empty()), 1, 1
        self.observe(self.trees[t])

    def observe(self, leaf):
        order = list(self.columns)
        groups = 4 if len(order) >= 24 else 0
        for i in range(len(order) if groups else self.observed):
            j = i + self.generator.randint(len(order) - i)
            order[i], order[j] = order[j], order[i]
        for i in range(groups):
            best = max(range(i, len(order), groups), key=lambda j: self.gain[order[j]])
            order[i], order[best] = order[best], order[i]
        leaf.rows, leaf.observed, leaf.tried = [], order[: self.observed], 0

    def weight(self):
        u = self.generator.uniform()
        return sum(u >= limit for limit in (0.3678794, 0.7357589, 0.9196986))

    def learn(self, bins, y):
        for t in range(len(self.trees)):
            # The row's leaf is found before a tree that begins anew is replaced by its root.
            leaf = self.trees[t].find(bins)
            if self.nodes[t] == 0:
                self.begin(t)
                leaf = self.trees[t]
            elif self.drifted(t, leaf, y):
                self.begin(t)
                self.forget(t)
                leaf = self.trees[t]
            weight = self.weight()
            if weight:
                self.learn_in(t, leaf, bins, y, weight)

    def learn_in(self, t, leaf, bins, y, weight):
        self.update(leaf, y, weight)
        if leaf.rows is None:
            return
        leaf.rows.append((bins, y, weight))
        seen = sum(row[2] for row in leaf.rows)
        if self.impure(leaf, y) and seen - leaf.tried >= self.grace and self.nodes[t] + 2 <= self.most_nodes:
            leaf.tried = seen
            self.attempt(t, leaf, seen)

    def attempt(self, t, leaf, seen):
        gains = [self.best(leaf, feature, seen) for feature in leaf.observed]
        largest = self.largest(leaf, seen)
        for feature, (gain, _) in zip(leaf.observed, gains, strict=True):
            if largest > 0.0:
                self.gain[feature] += 0.05 * (max(gain / largest - 4.0 / seen, 0.0) - self.gain[feature])
        order = sorted(range(len(gains)), key=lambda i: -gains[i][0])
        best, second = gains[order[0]][0], gains[order[1]][0] if len(order) > 1 else 0.0
        if self.enough(leaf, best, second, seen):
            feature, last = leaf.observed[order[0]], gains[order[0]][1]
            self.split(t, leaf, feature, last)

    def split(self, t, leaf, feature, last):
        sides = [[row for row in leaf.rows if (row[0][feature] > last) == side] for side in (False, True)]
        below, above = (sum(row[2] for row in rows) for rows in sides)
        leaf.feature, leaf.last = feature, last
        leaf.children = [Leaf(content) for content in self.inherited(leaf, feature, last)]
        leaf.rows = None
        self.nodes[t] += 2
        larger = 0 if below >= above else 1
        self.observe(leaf.children[larger])
        if self.slots[t] < self.most_slots:
            self.slots[t] += 1
            self.observe(leaf.children[1 - larger])


class ClassForest(Forest):
    """Leaves hold fading class counts; splits decrease the Gini index."""

    BINS, TREES = 32, 16

    def __init__(self, K, seed, n, growth):
        self.K, (self.grace, self.confidence, self.tie, self.keep) = K, growth
        observed = min(n, 12)
        slots = min(max(2**20 // (self.TREES * observed * self.BINS * K), 1), 64)
        super().__init__(self.TREES, seed, range(n), observed, slots, min(511, 16 * slots))
        self.accuracy = [0.5] * self.TREES
        self.monitored = [(0, 0, 1.0, 1.0)] * self.TREES

    def empty(self):
        return [0.0] * self.K

    def say(self, bins):
        votes = [0.0] * self.K
        for tree, accuracy in zip(self.trees, self.accuracy, strict=True):
            classes = tree.find(bins).content
            total = 0.1 * self.K
            for count in classes:
                total += count
            weight = accuracy * accuracy * accuracy / total
            votes = [vote + weight * (count + 0.1) for vote, count in zip(votes, classes, strict=True)]
        return [log(vote / sum(votes)) if vote > 0.0 else 0.0 for vote in votes]

    def drifted(self, t, leaf, y):
        right = leaf.content.index(max(leaf.content)) == y
        self.accuracy[t] += 0.01 * (right - self.accuracy[t])
        rows, errors, least, spread = self.monitored[t]
        rows, errors = rows + 1, errors + (not right)
        error, far = errors / rows, False
        if rows % 64 == 0:
            deviation = sqrt(error * (1.0 - error) / rows)
            if error + deviation < least + spread:
                least, spread = error, deviation
            far = error + deviation > least + 6.0 * max(spread, 1.0 / rows)
            rise = 1.0 - self.accuracy[t] - error
            if rows > 200 and rise > 0.0 and rise**2 > 25.0 * error * (1.0 - error) * 0.01 / 1.99:
                far = True
        self.monitored[t] = rows, errors, least, spread
        return far

    def forget(self, t):
        self.monitored[t] = (0, 0, 1.0, 1.0)

    def update(self, leaf, y, weight):
        keep = 1.0
        for _ in range(weight):
            keep *= self.keep
        leaf.content = [rounded(count * keep) for count in leaf.content]
        leaf.content[y] = rounded(leaf.content[y] + weight)

    def impure(self, leaf, y):
        return any(row[1] != y for row in leaf.rows)

    def totals(self, rows):
        return [sum(weight for _, y, weight in rows if y == c) for c in range(self.K)]

    def best(self, leaf, feature, seen):
        totals, best, last = self.totals(leaf.rows), 0.0, 0
        for b in sorted({row[0][feature] for row in leaf.rows}):
            left = self.totals([row for row in leaf.rows if row[0][feature] <= b])
            below = sum(left)
            if below < 0.01 * seen or seen - below < 0.01 * seen or b == self.BINS - 1:
                continue
            one = sum(count * count for count in left)
            other = sum((total - count) ** 2 for total, count in zip(totals, left, strict=True))
            purity = one / below + other / (seen - below)
            if purity > best:
                best, last = purity, b
        return ((best - sum(total * total for total in totals) / seen) / seen if best > 0.0 else 0.0), last

    def largest(self, _leaf, _seen):
        return 0.5

    def enough(self, _leaf, best, second, seen):
        bound = sqrt(self.confidence / seen)
        return best >= 1e-3 and (best - max(second, 0.0) > bound or bound < self.tie)

    def inherited(self, leaf, feature, last):
        sides = [[row for row in leaf.rows if (row[0][feature] > last) == side] for side in (False, True)]
        found = []
        for totals in map(self.totals, sides):
            share = min(1.0, 50.0 / sum(totals))
            found.append([rounded(total * share) for total in totals])
        return found


class TargetForest(Forest):
    """Leaves hold a fading mean; splits reduce the variance."""

    BINS, TREES, grace = 48, 15, 25.0

    def __init__(self, seed, columns, n):
        observed = min(n, 12)
        slots = min(2**19 // (self.TREES * observed * self.BINS), 48)
        super().__init__(self.TREES, seed, columns, observed, slots, 511)
        self.errors, self.rows = [(0.0, 0.0, 0.0)] * self.TREES, [0] * self.TREES

    def empty(self):
        return (0.0, 0.0)  # mean and weight

    def say(self, bins):
        total = weights = 0.0
        for tree, errors in zip(self.trees, self.errors, strict=True):
            weight = 1.0 / (errors[0] + 1e-6)
            total += weight * tree.find(bins).content[0]
            weights += weight
        return total / weights

    def drifted(self, t, leaf, y):
        self.rows[t] += 1
        squared = (y - leaf.content[0]) ** 2
        shares = [max(1.0 / self.rows[t], share) for share in (0.01, 0.02, 0.001)]
        self.errors[t] = tuple(e + share * (squared - e) for e, share in zip(self.errors[t], shares, strict=True))
        _, recent, long = self.errors[t]
        return self.rows[t] > 500 and recent > 3.0 * long + 1e-6

    def forget(self, t):
        self.rows[t] = 0

    def update(self, leaf, y, weight):
        mean, known = leaf.content
        keep = 1.0
        for _ in range(weight):
            keep *= 0.98
        known = keep * known + weight
        leaf.content = mean + weight / known * (y - mean), known

    def impure(self, _leaf, _y):
        return True

    def by_bin(self, leaf, feature):
        """Bin -> weight and sum of its targets, rounded to 32 bits with every row."""
        found = {}
        for bins, y, weight in leaf.rows:
            count, total = found.get(bins[feature], (0, 0.0))
            found[bins[feature]] = count + weight, rounded(total + weight * y)
        return dict(sorted(found.items()))

    def total(self, leaf):
        return sum(total for _, total in self.by_bin(leaf, leaf.observed[0]).values())

    def spread(self, leaf, seen):
        squares = 0.0
        for _, y, weight in leaf.rows:
            squares += weight * y * y
        return squares - self.total(leaf) ** 2 / seen

    def best(self, leaf, feature, seen):
        total, best, last, below, left = self.total(leaf), 0.0, 0, 0, 0.0
        for b, (count, of_bin) in self.by_bin(leaf, feature).items():
            below, left = below + count, left + of_bin
            above, right = seen - below, total - left
            if above < 0.01 * seen or b == self.BINS - 1:
                break
            gain = left * left / below + right * right / above - total * total / seen
            if below >= 0.01 * seen and gain > best:
                best, last = gain, b
        return best, last

    def largest(self, leaf, seen):
        """What a split can gain at most; 0 if the targets are equal."""
        spread = self.spread(leaf, seen)
        return spread if spread > 1e-12 * seen else 0.0

    def enough(self, leaf, best, second, seen):
        spread, bound = self.spread(leaf, seen), sqrt(1.498 / seen)
        if spread <= 1e-12 * seen or best <= 0.0 or best < 0.005 * spread:
            return False
        return max(second, 0.0) < (1.0 - bound) * best or bound < 0.1

    def inherited(self, leaf, feature, last):
        found = self.by_bin(leaf, feature)
        below, left = (sum(pair[i] for b, pair in found.items() if b <= last) for i in (0, 1))
        above, right = sum(row[2] for row in leaf.rows) - below, self.total(leaf) - left
        return [(left / below, min(float(below), 20.0)), (right / above, min(float(above), 20.0))]


class Usage:
    """Whether the forests are used: judged every 1,000 rows, with pauses that double."""

    def __init__(self, worth, fails):
        self.worth, self.fails, self.used, self.rows, self.pause = worth, fails, True, 0, 8000
        self.loss, self.risen = [0.0, 0.0], RisenLoss()

    def judge(self, without, both):
        self.rows += 1
        drifted = self.risen.after(without)
        if not self.used:
            if self.rows >= self.pause or (2 * self.rows >= self.pause and drifted):
                self.used, self.rows, self.fails, self.loss = True, 0, 3, [0.0, 0.0]
                self.pause = min(2 * self.pause, 256_000)
            return
        if self.rows > 500:
            share = max(1.0 / (self.rows - 500), 0.0005)
            self.loss = [old + share * (new - old) for old, new in zip(self.loss, (without, both), strict=True)]
        if self.rows % 1000 == 0:
            if self.loss[0] - self.loss[1] >= self.worth * self.loss[0]:
                self.pause, self.fails = 8000, 0
            else:
                self.fails += 1
            if self.fails >= 4:
                self.used, self.rows = False, 0
