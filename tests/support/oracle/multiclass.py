"""docs/algorithms/multiclass.md#multiclass-learners: first-order learners of several classes."""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner


class Linear:
    """One weight vector per class; subclasses define how they learn."""

    def __init__(self, n_features, n_classes, kind, intercept=True, **parameters):
        self.binary, self.intercept, self.K = kind == "binary", intercept, n_classes
        self.W = [[0.0] * (n_features + intercept) for _ in range(n_classes)]
        self.prepare(**parameters)

    def prepare(self):
        pass

    def S(self, x):
        return [inner(w, x) for w in self.W]

    def score(self, x):
        S = self.S(extended(x, self.intercept))
        return [S[1] - S[0]] if self.binary else S

    def predicted(self, S):
        return S.index(max(S))

    def add(self, r, step, x):
        self.W[r] = [w + step * v for w, v in zip(self.W[r], x, strict=True)]

    def rival(self, S, y):
        others = [r for r in range(self.K) if r != y]
        return max(others, key=lambda r: (S[r], -r))

    def learn(self, x, y):
        x, y = extended(x, self.intercept), int(y)
        S = self.S(x)
        self.update(x, y, S, self.rival(S, y))


class PerceptronMax(Linear):
    def update(self, x, y, S, s):
        if self.predicted(S) != y:
            self.add(y, 1.0, x)
            self.add(s, -1.0, x)


class PerceptronUniform(Linear):
    def shares(self, S, y, E):
        return [1.0 / len(E) for _ in E]

    def update(self, x, y, S, s):
        if self.predicted(S) == y:
            return
        E = [r for r in range(self.K) if r != y and S[r] >= S[y]]
        self.add(y, 1.0, x)
        for r, share in zip(E, self.shares(S, y, E), strict=True):
            self.add(r, -share, x)


class PerceptronSim(PerceptronUniform):
    def shares(self, S, y, E):
        total = 0.0
        for r in E:
            total += S[r] - S[y]
        return [(S[r] - S[y]) / total for r in E] if total > 0.0 else super().shares(S, y, E)


class OGD(Linear):
    def prepare(self, eta=1.0, schedule="inv_sqrt"):
        steps = {"const": lambda t: eta, "inv_sqrt": lambda t: eta / math.sqrt(t), "inv_t": lambda t: eta / t}
        self.t, self.step = 0, steps[schedule]

    def update(self, x, y, S, s):
        self.t += 1
        if S[y] - S[s] < 1.0:
            self.add(y, self.step(self.t), x)
            self.add(s, -self.step(self.t), x)


class Softmax(OGD):
    def update(self, x, y, S, s):
        self.t += 1
        powers = [math.exp(v - max(S)) for v in S]
        for r in range(self.K):
            self.add(r, -self.step(self.t) * (powers[r] / sum(powers) - (r == y)), x)


class PA(Linear):
    def tau(self, loss, x2):
        return loss / (2.0 * x2)

    def update(self, x, y, S, s):
        loss, x2 = max(0.0, 1.0 - (S[y] - S[s])), inner(x, x)
        if loss > 0.0 and x2 > 0.0:
            tau = self.tau(loss, x2)
            self.add(y, tau, x)
            self.add(s, -tau, x)


class PA1(PA):
    def prepare(self, C=0.1):
        self.C = C

    def tau(self, loss, x2):
        return min(self.C, loss / (2.0 * x2))


class PA2(PA):
    def prepare(self, C=0.01):
        self.C = C

    def tau(self, loss, x2):
        return loss / (2.0 * x2 + 1.0 / (2.0 * self.C))


class ROMMA(Linear):
    """Uses the vector of all weights; phi has the row in the blocks of two classes."""

    def prepare(self):
        self.mu = 1.0

    def learns(self, m):
        return m <= 0.0

    def update(self, x, y, S, s):
        m, x2 = S[y] - S[s], 2.0 * inner(x, x)
        if not self.learns(m) or x2 == 0.0:
            return
        w = [v for row in self.W for v in row]
        phi = [{y: 1.0, s: -1.0}.get(r, 0.0) * v for r in range(self.K) for v in x]
        w = self.moved(w, phi, m, x2, inner(w, w))
        norm = math.sqrt(inner(w, w))
        if norm > 1e6:
            w = [v * (1.0 / norm) for v in w]
            self.mu = max(self.mu / norm, 1e-200)
        d = len(x)
        self.W = [w[r * d : (r + 1) * d] for r in range(self.K)]

    def moved(self, w, phi, m, x2, w2):
        den = x2 * w2 - m * m
        alone = [self.mu / x2 * v for v in phi]
        if w2 == 0.0:
            return alone
        if den <= 1e-12 * (x2 * w2):
            return [p + (self.mu - m) / x2 * v for p, v in zip(w, phi, strict=True)]
        c = (x2 * w2 - self.mu * m) / den
        e = w2 * (self.mu - m) / den
        return alone if c < 0.0 else [c * p + e * v for p, v in zip(w, phi, strict=True)]


class AROMMA(ROMMA):
    def learns(self, m):
        return m < self.mu
