"""Online to batch, taken literally: lists, one row at a time, every hypothesis kept.

See docs/algorithms/online_to_batch.md#online-to-batch.

Rows are (x, y) with y = -1 or 1; x is standardised and ends with the constant 1. `log` lists (mistakes, rows left,
hypothesis) of every pass.
"""

from __future__ import annotations

import math
from copy import deepcopy
from itertools import combinations, permutations

from tests.support.oracle.protocol import inner
from tests.support.oracle.random import Xoshiro


class Perceptron:
    """h(x) = 1 if w.x >= 0, else -1; w <- w + y x on a mistake."""

    def __init__(self, width):
        self.w = [0.0] * width

    def says(self, x):
        return 1 if inner(self.w, x) >= 0.0 else -1

    def learn(self, x, y):
        self.w = [a + y * b for a, b in zip(self.w, x, strict=True)]


def quadratic_map(x):
    """Squares, root-2 cross terms, root-2 linear terms and 1, of OTB appendix C; x ends with the 1."""
    *x, _ = x
    crosses = [math.sqrt(2.0) * p * q for p, q in combinations(x, 2)]
    return [p * p for p in x] + crosses + [math.sqrt(2.0) * p for p in x] + [1.0]


class Explicit:
    """The perceptron on the coordinates of the quadratic map."""

    def __init__(self, width):
        self.plain = Perceptron(len(quadratic_map([0.0] * width)))

    def says(self, x):
        return self.plain.says(quadratic_map(x))

    def learn(self, x, y):
        self.plain.learn(quadratic_map(x), y)


class Dual:
    """The perceptron with the kernel (p.q + 1)^2, stored as the list of its mistakes."""

    def __init__(self, width):
        self.mistakes = []

    def says(self, x):
        return 1 if sum(y * (inner(p[:-1], x[:-1]) + 1.0) ** 2 for p, y in self.mistakes) >= 0.0 else -1

    def learn(self, x, y):
        self.mistakes.append((x, y))


def shuffled(n, seed):
    order = list(range(n))
    Xoshiro(seed).permute(order)
    return order


def drawn(n, length, seed):
    rng = Xoshiro(seed)
    return [rng.randint(n) for _ in range(length)]


def error(h, S):
    return sum(h.says(x) != y for x, y in S)


def algorithm_i(a, S, order, log, limit=math.inf):
    """The rows of `order` that were not removed, and whether the last pass had no mistakes."""
    left, removed = list(order), 0
    while True:
        mistakes = 0
        for i in list(left):
            x, y = S[i]
            if a.says(x) != y:
                a.learn(x, y)
                left.remove(i)
                mistakes += 1
                removed += 1
                if removed == limit:
                    log.append((mistakes, list(left), deepcopy(a)))
                    return left, False
        log.append((mistakes, list(left), deepcopy(a)))
        if mistakes == 0:
            return left, True


def algorithm_ii(make, S, order, phis, log):
    """The curve of (phi, errors), and the best hypothesis; `phis` must ascend."""
    a, copies, curve, before = make(), [0] * len(S), [], 0
    best = None
    for phi in phis:
        copies = [c + phi - before for c in copies]
        before = phi
        while True:
            mistakes = 0
            for i in order:
                x, y = S[i]
                if copies[i] > 0 and a.says(x) != y:
                    a.learn(x, y)
                    copies[i] -= 1
                    mistakes += 1
            log.append((mistakes, [i for i in order if copies[i] > 0], deepcopy(a)))
            if mistakes == 0:
                break
        curve.append((phi, error(a, S)))
        if best is None or curve[-1][1] < best[0]:
            best = (curve[-1][1], deepcopy(a))
        if curve[-1][1] == 0:
            break
    return curve, best[1]


def algorithm_ii_literally(make, S, order, phi):
    """Algorithm I on the multiset, with the copies of a row adjacent."""
    multiset = [S[i] for i in order for _ in range(phi)]
    a = make()
    log = []
    algorithm_i(a, multiset, range(len(multiset)), log)
    return a, sum(mistakes for mistakes, _, _ in log), len(log)


def algorithm_iii_weak(make, S, order, Z, log):
    """The hypothesis, the number of super iterations and the rows left."""
    left, count = list(order), 0
    while True:
        count += 1
        a = make()
        left, normal = algorithm_i(a, S, left, log, Z + 1)
        if normal:
            return a, count, left


def algorithm_iii(make, S, order, schedule):
    """(errors, Z, hypothesis) of the best one, including h_0 with Z = 0."""
    found = [(error(make(), S), 0, make())]
    for Z in schedule:
        a, _, _ = algorithm_iii_weak(make, S, order, Z, [])
        found.append((error(a, S), Z, a))
        if found[-1][0] == 0:
            break
    return min(found, key=lambda f: f[:2])


def hypotheses(make, S, draws):
    """h_0 to h_L, and whether each draw was classified correctly."""
    a, all_of_them, right = make(), [], []
    for i in draws:
        all_of_them.append(deepcopy(a))
        x, y = S[i]
        right.append(a.says(x) == y)
        if not right[-1]:
            a.learn(x, y)
    return [*all_of_them, a], right


def random_stopping(make, S, length, seed):
    rng = Xoshiro(seed)
    r = rng.randint(length)
    return hypotheses(make, S, [rng.randint(len(S)) for _ in range(r)])[0][-1]


def runs(make, S, length, seed):
    """(hypothesis, draws it classified correctly, draws it was used for), in order."""
    all_of_them, right = hypotheses(make, S, drawn(len(S), length, seed))
    found, start = [], 0
    for t, good in enumerate(right):
        if not good:
            found.append((all_of_them[start], t - start, t - start + 1))
            start = t + 1
    return [*found, (all_of_them[start], length - start, length - start)]


def longest_survival(make, S, length, seed):
    return max(runs(make, S, length, seed), key=lambda r: r[1])[0]


def average(make, S, length, seed):
    past = hypotheses(make, S, drawn(len(S), length, seed))[0][:-1]
    return [sum(column) / length for column in zip(*(h.w for h in past), strict=True)]


def cutoff_average(make, S, length, seed):
    """(errors, k, weights) of the best cutoff k."""
    found, k = [], 0
    while k <= length:
        late = [(h.w, used - k) for h, _, used in runs(make, S, length, seed) if used > k]
        if late:
            total = sum(n for _, n in late)
            h = make()
            h.w = [sum(n * p for n, p in zip([n for _, n in late], c, strict=True)) / total
                   for c in zip(*(w for w, _ in late), strict=True)]  # fmt: skip
            found.append((error(h, S), k, h.w))
        k = 2 * k or 1
    return min(found, key=lambda f: f[:2])


def worst_permutation_bound(make, S):
    """M: the most mistakes on any order of S."""
    worst = 0
    for order in permutations(S):
        a, mistakes = make(), 0
        for x, y in order:
            if a.says(x) != y:
                a.learn(x, y)
                mistakes += 1
        worst = max(worst, mistakes)
    return worst
