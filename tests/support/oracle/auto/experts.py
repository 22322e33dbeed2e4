"""Experts of `auto` that give each class a score: label history, first and second order, naive Bayes, neighbours."""

from __future__ import annotations

from collections import defaultdict, deque
from math import exp, factorial, log, pi, sqrt

from tests.support.oracle.protocol import inner
from tests.support.oracle.random import Xoshiro

SINE = [(p, (-1) ** (p // 2) * (2.0 * pi) ** p / factorial(p)) for p in range(1, 10, 2)]
"""Powers of turns and their coefficients in the series of the sine."""


def sigmoid(m):
    return 1.0 / (1.0 + exp(-m)) if abs(m) <= 35.0 else float(m > 0.0)


def rival(S, y):
    """The best of the other classes; the lowest index on ties."""
    return max((c for c in range(len(S)) if c != y), key=lambda c: (S[c], -c))


def over_others(S, y):
    """The log-odds of y by softmax, and their derivatives by the scores."""
    best = max(s for c, s in enumerate(S) if c != y)
    others = [0.0 if c == y else exp(s - best) for c, s in enumerate(S)]
    by_class = [1.0 if c == y else -one / sum(others) for c, one in enumerate(others)]
    return S[y] - best - log(sum(others)), by_class


class Scores:
    """A weight vector per class; with two classes, one for their difference."""

    def __init__(self, K, d):
        self.K, self.w = K, [[0.0] * d for _ in range(1 if K == 2 else K)]

    def of(self, x):
        S = [inner(w, x) for w in self.w]
        return [0.0, *S] if self.K == 2 else S

    def move(self, x, steps):
        if self.K == 2:
            steps = [steps[1] - steps[0]]
        self.w = [[p + step * q for p, q in zip(w, x, strict=True)] for w, step in zip(self.w, steps, strict=True)]


class FirstOrder:
    """Logistic loss, passive-aggressive, (1 - p)^2 slow and fast; steps are divided by the row's squared length."""

    def __init__(self, K, d, rate):
        self.K, self.rate = K, rate
        self.experts = [Scores(K, d) for _ in range(4)]

    def say(self, x):
        return [expert.of(x) for expert in self.experts]

    def learn(self, x, y):
        rules = (self.logistic, self.passive_aggressive, self.sigmoid(0.05), self.sigmoid(0.3))
        for expert, rule in zip(self.experts, rules, strict=True):
            expert.move(x, [step / inner(x, x) for step in rule(expert.of(x), y)])

    def logistic(self, S, y):
        e = [exp(s - max(S)) for s in S]
        return [2.0 * self.rate * ((c == y) - e[c] / sum(e)) for c in range(self.K)]

    def towards(self, y, r, step):
        return [step * ((c == y) - (c == r)) for c in range(self.K)]

    def passive_aggressive(self, S, y):
        r = rival(S, y)
        return self.towards(y, r, max(0.0, 1.0 - (S[y] - S[r])) / 2.0)

    def sigmoid(self, rate):
        def rule(S, y):
            r = rival(S, y)
            p = sigmoid(S[y] - S[r])
            return self.towards(y, r, 8.0 * rate * p * (1.0 - p) ** 2)

        return rule


class CosineExperts:
    """First-order experts on cosines of random frequencies, computed by the sine series up to the ninth power."""

    def __init__(self, K, n, seed):
        generator = Xoshiro(seed)
        self.drawn = []
        for i in range(128):
            gamma = 0.5 * (1, 2, 4, 8)[i % 4] / n
            phase = generator.uniform()
            self.drawn.append((phase, [sqrt(2.0 * gamma) * generator.normal() / (2.0 * pi) for _ in range(n)]))
        self.linear = FirstOrder(K, 128, 0.3)

    @staticmethod
    def cosine(turns):
        quarter = 0.25 - min(turns % 1.0, 1.0 - turns % 1.0)
        return sum(coefficient * quarter**power for power, coefficient in SINE)

    def waves(self, z):
        return [self.cosine(phase + inner(frequency, z[:-1])) for phase, frequency in self.drawn]

    def say(self, z):
        return self.linear.say(self.waves(z))

    def learn(self, z, y):
        self.linear.learn(self.waves(z), y)


class Covariance:
    """Covariance of the weights of a lead: drift, curvature of the logistic loss at the lead, and downdate."""

    def __init__(self, d, first, most, drift, flattest):
        self.P = [[first * (i == j) for j in range(d)] for i in range(d)]
        self.most, self.drift, self.flattest = most, drift, flattest

    def gain(self, x, lead, count=1.0):
        """Update the covariance for `count` rows x with lead `lead`; return the weight step that raises the lead."""
        for i in range(len(x)):
            self.P[i][i] += count * self.drift if self.P[i][i] < self.most else 0.0
        k = [inner(row, x) for row in self.P]
        variance = max(inner(x, k), 0.0)
        p = sigmoid(lead / sqrt(1.0 + pi / 8.0 * variance))
        h = max(p * (1.0 - p), self.flattest)
        self.P = [
            [entry - k[i] * k[j] / (1.0 / count / h + variance) for j, entry in enumerate(row)]
            for i, row in enumerate(self.P)
        ]
        return [(1.0 - p) / h / (1.0 / count / h + variance) * one for one in k]


class LateResiduals:
    """Correlation of the residuals of successive late rows."""

    def __init__(self):
        self.last, self.product, self.square = None, 0.0, 0.0

    def correlation(self, now):
        self.product = 0.998 * self.product + 0.002 * (inner(now, self.last) if self.last else 0.0)
        self.square = 0.998 * self.square + 0.002 * inner(now, now)
        self.last = now
        return min(self.product / self.square, 0.998) if self.product > 0.0 else 0.0


class RisenLoss:
    """Whether the mean loss of recent rows is far above that of many rows."""

    def __init__(self):
        self.recent, self.many, self.square, self.weight = 0.0, 0.0, 0.0, 0.0

    def after(self, loss):
        self.recent = 0.99 * self.recent + 0.01 * loss
        self.many = 0.9995 * self.many + 0.0005 * loss
        self.square = 0.9995 * self.square + 0.0005 * loss**2
        self.weight = 0.9995 * self.weight + 0.0005
        mean = self.many / self.weight
        deviation = (self.square / self.weight - mean**2) * 0.01 / 1.99
        return self.recent > mean and (self.recent - mean) ** 2 > 25.0 * deviation


class SecondOrder:
    def __init__(self, K, d):
        self.K = K
        self.experts = [(Scores(K, d), Covariance(d, 1.0, 10.0, drift, 0.02)) for drift in (1e-5, 1e-3)]

    def say(self, x):
        return [weights.of(x) for weights, _ in self.experts]

    def learn(self, x, y):
        for weights, covariance in self.experts:
            lead, by_class = over_others(weights.of(x), y)
            # Half a step up for the class, half a step down for the others: with two classes a full step for their
            # difference.
            weights.move(covariance.gain(x, lead), [0.5 * one for one in by_class])


class NaiveBayes:
    def __init__(self, K, n):
        self.K, self.keeps = K, (0.999, 0.98)
        self.weight = [[1.0] * K for _ in self.keeps]
        self.bells = [[[(0.0, 1.0)] * n for _ in range(K)] for _ in self.keeps]

    def say(self, z):
        return [
            [log(w) - 0.5 * sum(log(v) + (x - m) ** 2 / v for x, (m, v) in zip(z[:-1], bell, strict=True))
             for w, bell in zip(weight, bells, strict=True)]
            for weight, bells in zip(self.weight, self.bells, strict=True)
        ]  # fmt: skip

    def learn(self, z, y):
        for keep, weight, bells in zip(self.keeps, self.weight, self.bells, strict=True):
            weight[:] = [max(w * keep, 1e-3) for w in weight]
            weight[y] += 1.0
            share = min(max(1.0 / weight[y], 1.0 - keep), 0.5)
            bells[y] = [
                (m + share * (x - m), max((1.0 - share) * (v + share * (x - m) ** 2), 0.01))
                for x, (m, v) in zip(z[:-1], bells[y], strict=True)
            ]


class LabelHistory:
    """Counts of labels per context, which fade when it occurs; labels before the first row are taken as 0."""

    def __init__(self, K):
        self.K = K
        self.longest = 64 if K <= 4 else 16 if K <= 8 else 4
        past = 6 if K == 2 else 3 if K <= 4 else 2 if K <= 10 else 1
        self.counts = [defaultdict(lambda: [0.0] * K) for _ in range(2)]
        self.last, self.run, self.past = 0, 0, deque([0] * past, maxlen=past)

    def contexts(self):
        return (self.last, self.run), tuple(self.past)

    def say(self, z):
        found = []
        for counts, context in zip(self.counts, self.contexts(), strict=True):
            found.append([log(count + 0.5 / self.K) for count in counts[context]])
        return found

    def learn(self, z, y, contexts=None):
        for counts, context in zip(self.counts, contexts or self.contexts(), strict=True):
            faded = [0.99 * count for count in counts[context]]
            counts[context] = [(count if count > 1e-9 else 0.0) + (c == y) for c, count in enumerate(faded)]
        self.run = min(self.run + 1, self.longest - 1) if y == self.last else 0
        self.last = y
        self.past.append(y)


class Window:
    """The last 512 rows, by slot."""

    def __init__(self):
        self.slots, self.taken = [None] * 512, 0

    def nearest(self, z):
        """Labels of the five nearest rows; on ties, lower slots come first."""
        known = [slot for slot in self.slots if slot]
        far = [sum((a - b) ** 2 for a, b in zip(z[:-1], row, strict=False)) for row, _ in known]
        return [known[i][1] for i in sorted(range(len(known)), key=far.__getitem__)[:5]]

    def keep(self, z, y):
        self.slots[self.taken % 512] = (z[:-1], y)
        self.taken += 1


class Neighbours:
    def __init__(self, K):
        self.K, self.window = K, Window()

    def say(self, z):
        near = self.window.nearest(z)
        return [[log(1.0 / self.K + some.count(c)) for c in range(self.K)] for some in (near[:1], near)]

    def learn(self, z, y):
        self.window.keep(z, y)
