"""Learners that keep a covariance per class, and `arowa` of section 4, by their definitions.

See docs/algorithms/multiclass.md#multiclass-learners.

The scalars of a row, alpha and kappa, are those of the two-class learner, by the published formulas of `gaussian`.
"""

from __future__ import annotations

from tests.support.oracle import gaussian
from tests.support.oracle.protocol import extended, inner, sign_of


def rival_of(scores, label):
    """The best wrong class, the lowest index on ties."""
    wrong = [r for r in range(len(scores)) if r != label]
    return max(wrong, key=lambda r: (scores[r], -r))


def shown(scores, kind):
    return [scores[1] - scores[0]] if kind == "binary" else scores


class Classes:
    """A Gaussian per class; `scalars` is that of the two-class learner."""

    def __init__(self, n_features, n_classes, kind, a=1.0, cov="auto", q=0.0, intercept=True):
        d = n_features + intercept
        self.kind, self.a, self.q, self.intercept = kind, a, q, intercept
        self.full = d <= 256 if cov == "auto" else cov == "full"
        self.mu = [[0.0] * d for _ in range(n_classes)]
        self.sigma = [[[a if i == j else 0.0 for j in range(d)] for i in range(d)] for _ in range(n_classes)]

    def scalars(self, m, v):
        """(alpha, kappa) of a row with margin m and variance v."""
        raise NotImplementedError

    def scores(self, x):
        return [inner(mu, x) for mu in self.mu]

    def score(self, x):
        return shown(self.scores(extended(x, self.intercept)), self.kind)

    def learn(self, x, y):
        x, label = extended(x, self.intercept), int(y)
        scores = self.scores(x)
        rival = rival_of(scores, label)
        k = {r: self.times(self.sigma[r], x) for r in (label, rival)}
        v = inner(x, k[label]) + inner(x, k[rival])
        if v > 1e-12:
            alpha, kappa = self.scalars(scores[label] - scores[rival], v)
            if alpha > 0.0:
                for r, sign in ((label, 1.0), (rival, -1.0)):
                    self.mu[r] = [w + sign * alpha * g for w, g in zip(self.mu[r], k[r], strict=True)]
                    self.narrow(self.sigma[r], x, k[r], v, kappa)
        for sigma in self.sigma:
            for i in range(len(x)):
                sigma[i][i] += min(self.q, max(0.0, self.a - sigma[i][i]))

    def times(self, sigma, x):
        return [inner(row, x) if self.full else row[i] * x[i] for i, row in enumerate(sigma)]

    def narrow(self, sigma, x, k, v, kappa):
        for i in range(len(x)):
            for j in range(len(x)) if self.full else ():
                sigma[i][j] -= kappa / (1.0 + kappa * v) * k[i] * k[j]
            if not self.full:
                sigma[i][i] = 1.0 / (1.0 / sigma[i][i] + kappa * x[i] ** 2)


class AROW(Classes):
    def __init__(self, n_features, n_classes, kind, r=1.0, **rest):
        super().__init__(n_features, n_classes, kind, **rest)
        self.r = r

    def scalars(self, m, v):
        return (0.0, 0.0) if m >= 1 else ((1 - m) / (v + self.r), 1 / self.r)


def with_scalars_of(binary, **scalar_defaults):
    """`Classes` with the scalars of a two-class oracle, whose own parameters have these defaults."""

    class Several(Classes):
        def __init__(self, n_features, n_classes, kind, **given):
            own = {name: given.pop(name, default) for name, default in scalar_defaults.items()}
            super().__init__(n_features, n_classes, kind, **given)
            self.two = binary(1, 2, "binary", cov="full" if self.full else "diag", **own)

        def scalars(self, m, v):
            return self.two.scalars(m, v)

    return Several


CW = with_scalars_of(gaussian.CW, eta=0.7)
CWStdev = with_scalars_of(gaussian.CWStdev, eta=0.7)
SCW1 = with_scalars_of(gaussian.SCW1, eta=0.75, C=1.0)
SCW2 = with_scalars_of(gaussian.SCW2, eta=0.75, C=1.0)
NHERD = with_scalars_of(gaussian.NHERD, C=0.1)


class Matrix:
    """The Gaussian over W of `arowa`; a row requires y p'W z >= 1."""

    def __init__(self, d1, d2, r, a, form, q):
        self.r, self.a, self.q, self.diagonal = r, a, q, form == "diag"
        self.W = [[0.0] * d2 for _ in range(d1)]
        self.S = [[a] * d2 for _ in range(d1)]
        self.rows = [[a if i == j else 0.0 for j in range(d1)] for i in range(d1)]
        self.columns = [[1.0 if i == j else 0.0 for j in range(d2)] for i in range(d2)]

    def value(self, p, z):
        return inner(p, [inner(row, z) for row in self.W])

    def learn(self, p, z, y, m):
        d1, d2 = len(p), len(z)
        every = [(i, j) for i in range(d1) for j in range(d2)]
        if m < 1.0 and self.diagonal:
            v = sum(self.S[i][j] * p[i] ** 2 * z[j] ** 2 for i, j in every)
            for i, j in every if v > 1e-12 else []:
                self.W[i][j] += (1 - m) / (v + self.r) * y * self.S[i][j] * p[i] * z[j]
                self.S[i][j] = 1 / (1 / self.S[i][j] + p[i] ** 2 * z[j] ** 2 / self.r)
        elif m < 1.0:
            kp, kz = [inner(row, p) for row in self.rows], [inner(row, z) for row in self.columns]
            vp, vz = inner(p, kp), inner(z, kz)
            if vp * vz > 1e-12:
                for i, j in every:
                    self.W[i][j] += (1 - m) / (vp * vz + self.r) * y * kp[i] * kz[j]
                shrink(self.rows, kp, self.r * d2 / vz + vp)
                shrink(self.columns, kz, self.r * d1 / vp + vz)
        for i, j in every:
            self.S[i][j] += min(self.q, max(0.0, self.a - self.S[i][j]))
        for i in range(d1):
            self.rows[i][i] += min(self.q, max(0.0, self.a - self.rows[i][i]))
        for j in range(d2):
            self.columns[j][j] += min(self.q, max(0.0, 1.0 - self.columns[j][j]))


def shrink(P, k, divisor):
    for i in range(len(k)):
        for j in range(len(k)):
            P[i][j] -= k[i] * k[j] / divisor


class AROWA:
    def __init__(self, n_features, n_classes, kind, r=1.0, a=1.0, form="diag", q=0.0, intercept=True):
        self.kind, self.intercept = kind, intercept
        self.matrix = Matrix(n_classes, n_features + intercept, r, a, form, q)

    def score(self, x):
        x = extended(x, self.intercept)
        return shown([inner(row, x) for row in self.matrix.W], self.kind)

    def learn(self, x, y):
        x, label = extended(x, self.intercept), int(y)
        scores = [inner(row, x) for row in self.matrix.W]
        rival = rival_of(scores, label)
        p = [(r == label) - (r == rival) for r in range(len(scores))]
        self.matrix.learn(p, x, 1.0, scores[label] - scores[rival])


class AROWAPair:
    def __init__(self, n_features, n_classes, kind, r=1.0, a=1.0, form="diag", d1=0, q=0.0, intercept=True):
        self.first, self.intercept = d1 or (n_features + 1) // 2, intercept
        self.matrix = Matrix(self.first + intercept, n_features - self.first + intercept, r, a, form, q)

    def items(self, x):
        return extended(x[: self.first], self.intercept), extended(x[self.first :], self.intercept)

    def score(self, x):
        return [self.matrix.value(*self.items(x))]

    def learn(self, x, y):
        p, z = self.items(x)
        self.matrix.learn(p, z, sign_of(y), sign_of(y) * self.matrix.value(p, z))
