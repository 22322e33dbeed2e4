"""docs/decisions/0055 in plain Python: probabilities of predictions, and how good they are."""

from __future__ import annotations

import math

from tests.support.oracle.metrics import chosen


def evidence(scores, link):
    """Log-odds of the class predicted, or its margin."""
    if len(scores) == 1:
        s = abs(scores[0])
        if link != "probit":
            return s
        rest = 0.5 * math.erfc(s / math.sqrt(2))
        return math.log((1 - rest) / rest) if rest else math.inf
    c = chosen(scores)
    others = [s for i, s in enumerate(scores) if i != c]
    if link == "softmax":
        return -math.log(sum(math.exp(s - scores[c]) for s in others))
    if link == "direct":
        return math.log(scores[c] / sum(others))
    return scores[c] - max(others)


class Calibration:
    """Probability of a prediction, and what a label teaches."""

    def __init__(self, n_classes, link):
        self.n_classes, self.link, self.scaled = n_classes, link, link is None
        self.keeps, self.prior, self.bin_prior = (0.998, 50, 50) if link else (0.995, 1, 10)
        self.theta = [0.0, 1.0]
        self.H = [[self.prior, 0.0], [0.0, self.prior]]
        self.rows = []
        self.margins, self.unit = [], 0.0
        self.bins = [[] for _ in range(20)]

    def x(self, scores):
        value = evidence(scores, self.link)
        if not self.scaled:
            return max(-14.0, min(value, 14.0))
        return min(value / self.unit if self.unit else value, 8.0 if self.unit else 1.0)

    def mean(self):
        weights = [0.99 ** (len(self.margins) - 1 - i) for i in range(len(self.margins))]
        return sum(w * m for w, m in zip(weights, self.margins, strict=True)) / sum(weights) if weights else 0.0

    def line(self, scores):
        u = self.theta[0] + self.theta[1] * self.x(scores)
        return 1 / (1 + math.exp(-u))

    def bin_of(self, q):
        p = max(1 / self.n_classes, min(q, 1 - 1e-6))
        return p, self.bins[int(p * 20)]

    def probability(self, scores):
        p, missed = self.bin_of(self.line(scores))
        weights = [0.998 ** (len(missed) - 1 - i) for i in range(len(missed))]
        p += sum(w * m for w, m in zip(weights, missed, strict=True)) / (sum(weights) + self.bin_prior)
        return min(max(int(p * 1e6 + 0.5), math.ceil(1e6 / self.n_classes)), 999_999)

    def learn(self, scores, label):
        x, q = self.x(scores), self.line(scores)
        right = 1.0 if chosen(scores) == label else 0.0
        p, missed = self.bin_of(q)
        missed.append(right - p)
        v, w = (1.0, x), max(q * (1 - q), 1e-3)
        for i in range(2):
            for j in range(2):
                self.H[i][j] = self.keeps * self.H[i][j] + w * v[i] * v[j]
            self.H[i][i] += (1 - self.keeps) * self.prior
        self.rows.append((v, right - q))
        if len(self.rows) == 8:
            a, b, c = (self.H[i][j] + sum(v[i] * v[j] for v, _ in self.rows) / 4 for i, j in ((0, 0), (0, 1), (1, 1)))
            g, h = (sum(v[i] * e for v, e in self.rows) for i in range(2))
            det = a * c - b * b
            self.theta[0] = max(-30.0, min(self.theta[0] + (c * g - b * h) / det, 30.0))
            self.theta[1] = max(0.0, min(self.theta[1] + (a * h - b * g) / det, 30.0))
            self.rows = []
        if self.scaled and evidence(scores, self.link) < 1e200:
            self.margins.append(min(evidence(scores, self.link), 100 * self.unit if self.unit else math.inf))
        if not self.rows:
            self.unit = self.mean()


def reliability(history, window=None):
    """Log loss, Brier score and calibration error of (millionths, right) pairs."""
    pairs = [(m / 1e6, float(right)) for m, right in (history if window is None else history[-window:])]
    if not pairs:
        return [None] * 3
    bins = {}
    for (p, right), (m, _) in zip(pairs, history[-len(pairs) :], strict=True):
        bins.setdefault(m * 20 // 10**6, []).append((p, right))
    return [
        -math.fsum(math.log(p if right else 1 - p) for p, right in pairs) / len(pairs),
        math.fsum((p - right) ** 2 for p, right in pairs) / len(pairs),
        math.fsum(abs(math.fsum(p - right for p, right in one)) for one in bins.values()) / len(pairs),
    ]
