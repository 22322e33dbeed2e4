"""Kernel learners of several classes, one coefficient per vector and class.

See docs/algorithms/multiclass.md#multiclass-learners.
"""

from __future__ import annotations

from math import isfinite

from tests.support.oracle.kernel_methods import Kernel, kernel_of, with_kernel
from tests.support.oracle.protocol import inner


class Several:
    """A ring of vectors with one coefficient per class; S_r = scale sum_i a_ir k(sv_i, x)."""

    def __init__(self, n_features, n_classes, kind, budget=300, **given):
        self.k = Kernel(n_features, **kernel_of(given))
        self.K, self.binary, self.budget = n_classes, kind == "binary", budget
        self.sv, self.a, self.additions, self.scale = [], [], 0, 1.0
        self.prepare(**given)

    def prepare(self):
        pass

    def S(self, x):
        """Scores of all classes, or None if the row can neither be scored nor learned from."""
        if not self.k.usable(x):
            return None
        kv = [self.k(z, x) for z in self.sv]
        S = [self.scale * inner([a[r] for a in self.a], kv) for r in range(self.K)]
        return S if all(map(isfinite, S)) else None

    def score(self, x):
        S = self.S(x) or [0.0] * self.K
        return [S[1] - S[0]] if self.binary else S

    def store(self, x, y, rival, step):
        a = [0.0] * self.K
        a[y], a[rival] = step, -step
        slot = self.additions % self.budget
        self.sv[slot : slot + 1], self.a[slot : slot + 1] = [list(x)], [a]
        self.additions += 1

    def alone(self, S, y):
        """Whether no other class scores as high."""
        return all(s < S[y] for r, s in enumerate(S) if r != y)

    def learn(self, x, y):
        S, y = self.S(x), int(y)
        if S is None:
            return
        if self.k.prefer(lambda k: self.alone(with_kernel(self, k, lambda: self.S(x)), y)):
            S = self.S(x)
        rival = max((r for r in range(self.K) if r != y), key=lambda r: (S[r], -r))
        before = self.additions
        self.update(x, y, S, rival)
        if self.additions > before:
            self.k.follow(self.sv, self.additions, self.budget)


class MCKernelPerceptron(Several):
    def update(self, x, y, S, rival):
        if S.index(max(S)) != y:
            self.store(x, y, rival, 1.0)


class MCNORMA(Several):
    def prepare(self, alpha=0.1, lam=0.01, rho=1.0):
        self.alpha, self.lam, self.rho = alpha, lam, rho

    def update(self, x, y, S, rival):
        self.scale *= 1.0 - self.alpha * self.lam
        if self.scale < 1e-100:
            self.a = [[self.scale * v for v in a] for a in self.a]
            self.scale = 1.0
        if S[y] - S[rival] <= self.rho:
            self.store(x, y, rival, self.alpha / self.scale)
