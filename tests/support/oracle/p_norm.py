"""docs/algorithms/linear.md#linear-learners: p-norm perceptron, NORMA and ALMA, with the link as published by KSW."""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of


def norm(theta, p):
    return sum(abs(v) ** p for v in theta) ** (1.0 / p)


def inverse_link(theta, p):
    if not any(theta):
        return theta
    return [math.copysign(abs(v) ** (p - 1.0), v) / norm(theta, p) ** (p - 2.0) for v in theta]


class Dual:
    def __init__(self, n_features, n_classes, kind, p=2.0, intercept=True, **given):
        d = n_features + intercept
        self.p = max(2.0, 2.0 * math.log(d)) if p == "auto" else p
        self.intercept, self.given = intercept, given
        self.theta = [0.0] * d

    def score(self, x):
        return [inner(inverse_link(self.theta, self.p), extended(x, self.intercept))]

    def option(self, name, default):
        return self.given.get(name, default)

    def add(self, step, x):
        self.theta = [v + step * u for v, u in zip(self.theta, x, strict=True)]

    def learn(self, x, y):
        s = self.score(x)[0]
        self.update(extended(x, self.intercept), sign_of(y), s)


class Perceptron(Dual):
    def update(self, x, y, s):
        predicted = 1.0 if s >= 0.0 else -1.0
        if (y * s <= 0.0) if self.option("ties", "update") == "update" else (predicted != y):
            self.add(self.option("alpha", 1.0) * y, x)


class NORMA(Dual):
    rho = 1.0

    def update(self, x, y, s):
        alpha, lam = self.option("alpha", 0.1), self.option("lam", 0.01)
        self.theta = [(1.0 - alpha * lam) * v for v in self.theta]
        if y * s <= self.option("rho", self.rho):
            self.add(alpha * y, x)


class NORMA0(NORMA):
    rho = 0.0


class ALMA(Dual):
    rho = 1.0

    def update(self, x, y, s):
        if y * s <= self.option("rho", self.rho):
            self.add(self.option("alpha", 0.1) * y, x)
        beta = max(1.0, norm(self.theta, self.p) / self.option("B", 10.0))
        self.theta = [v / beta for v in self.theta]


class ALMA0(ALMA):
    rho = 0.0
