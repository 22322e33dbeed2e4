"""Gradient descent on features that approximate a kernel: random and Nystroem features.

See docs/algorithms/kernel_methods.md#kernel-methods.
"""

from __future__ import annotations

from math import atan2, cos, inf, isfinite, sin, sqrt

from tests.support.oracle.kernel_methods import SAMPLE, Expansion, Kernel, kernel_of
from tests.support.oracle.protocol import inner, sign_of
from tests.support.oracle.random import Xoshiro


class FOGD:
    def __init__(self, n_features, n_classes, kind, D=100, eta=0.1, seed=1, **given):
        self.k, self.D, self.eta = Kernel(n_features, **{"width": "median", **kernel_of(given)}), D, eta
        rng = Xoshiro(seed)
        self.U = [[rng.normal() for _ in range(n_features)] for _ in range(D)]
        self.w = [0.0] * (2 * D)
        self.first, self.noted = [], 0

    def z(self, x):
        angles = [sqrt(2.0 * self.k.gamma) * inner(u, x) for u in self.U]
        return [wave(angle) / sqrt(self.D) for wave in (sin, cos) for angle in angles]

    def learnable(self, x):
        s = inner(self.w, self.z(x)) if self.k.usable(x) else inf
        return s if isfinite(s) else None

    def score(self, x):
        return [self.learnable(x) or 0.0]

    def learn(self, x, y):
        s, y = self.learnable(x), sign_of(y)
        if s is None:
            return
        if y * s < 1.0:
            self.w = [w + self.eta * y * z for w, z in zip(self.w, self.z(x), strict=True)]
        self.noted += 1
        self.first += [x] if 64 < self.noted <= 64 + SAMPLE else []
        if self.noted == 64 + SAMPLE and self.k.follow(self.first, SAMPLE, SAMPLE):
            self.w = [0.0] * len(self.w)


def eigenpairs(A):
    """Eigenpairs (value, vector) of a symmetric matrix, largest value first, by Jacobi rotations."""
    n = len(A)
    A, V = [list(row) for row in A], [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(30):
        if sqrt(sum(A[i][j] ** 2 for i in range(n) for j in range(n) if i != j)) <= 1e-15 * sum(
            A[i][i] for i in range(n)
        ):
            break
        for p in range(n):
            for q in range(p + 1, n):
                angle = 0.5 * atan2(2.0 * A[p][q], A[q][q] - A[p][p])
                c, s = cos(angle), sin(angle)
                A[p], A[q] = turned(A[p], A[q], c, s)
                for row in (*A, *V):
                    row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    return sorted(((A[i][i], [row[i] for row in V]) for i in range(n)), reverse=True)


def turned(u, v, c, s):
    pairs = list(zip(u, v, strict=True))
    return [c * a - s * b for a, b in pairs], [s * a + c * b for a, b in pairs]


class NOGD(Expansion):
    width = "median"

    def prepare(self, rank=20, eta=0.1):
        self.rank, self.eta = rank, eta
        self.M = self.w = None

    def z(self, x):
        kv = self.values(x)
        return [inner(row, kv) for row in self.M]

    def f(self, x):
        return super().f(x) if self.M is None else inner(self.w, self.z(x))

    def decompose(self):
        pairs = eigenpairs([[self.k(z, w) for w in self.sv] for z in self.sv])[: self.rank]
        pairs = [(value, v) for value, v in pairs if value > 1e-10 * pairs[0][0]]
        self.M = [[u / sqrt(value) for u in v] for value, v in pairs]
        self.w = [sqrt(value) * inner(v, self.a) for value, v in pairs]

    def widened(self):
        if self.M is not None:
            self.decompose()

    def update(self, x, y, s):
        if y * s >= 1.0:
            return
        if self.M is not None:
            self.w = [w + self.eta * y * z for w, z in zip(self.w, self.z(x), strict=True)]
            return
        self.store(len(self.sv), x, self.eta * y)
        if self.full():
            self.decompose()
