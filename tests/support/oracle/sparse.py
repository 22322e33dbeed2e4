"""docs/algorithms/sparse.md#sparse-learners: gradient steps and averages whose weights are thresholded."""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of

INFINITE = 0.0


def gradient(loss, s, y):
    if loss == "hinge":
        return -y if y * s < 1.0 else 0.0
    return -y / (1.0 + math.exp(max(-700.0, min(700.0, y * s))))


def soft(value, by):
    return math.copysign(max(0.0, abs(value) - by), value)


class Linear:
    def __init__(self, n_features, loss, intercept):
        self.penalised, self.loss, self.intercept = n_features, loss, intercept
        self.w, self.t = [0.0] * (n_features + intercept), 0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x = extended(x, self.intercept)
        self.t += 1
        g = gradient(self.loss, inner(self.w, x), sign_of(y))
        self.move([g * v for v in x])

    def lam(self, lam):
        """Penalty of each weight; the intercept has none."""
        return [lam if j < self.penalised else 0.0 for j in range(len(self.w))]


class TruncatedGradient(Linear):
    def __init__(
        self,
        n_features,
        n_classes,
        kind,
        eta=0.1,
        K=10,
        gravity=0.001,
        theta="auto",
        mode="tg",
        loss="logistic",
        intercept=True,
    ):
        super().__init__(n_features, loss, intercept)
        self.eta, self.K, self.gravity, self.mode = eta, K, gravity, mode
        self.theta = {"tg": 1.0, "round": 0.05}[mode] if theta == "auto" else theta
        if self.theta == INFINITE:
            self.theta = math.inf

    def truncated(self, v):
        if self.mode == "round":
            return 0.0 if abs(v) <= self.theta else v
        alpha = self.eta * self.K * self.gravity
        if 0.0 <= v <= self.theta:
            return max(0.0, v - alpha)
        if -self.theta <= v < 0.0:
            return min(0.0, v + alpha)
        return v

    def move(self, gradients):
        self.w = [w - self.eta * g for w, g in zip(self.w, gradients, strict=True)]
        if self.t % self.K == 0:
            self.w = [self.truncated(v) if j < self.penalised else v for j, v in enumerate(self.w)]


class FOBOS(Linear):
    STEPS = {"const": lambda t: 1.0, "inv_sqrt": lambda t: 1.0 / math.sqrt(t), "inv_t": lambda t: 1.0 / t}  # noqa: RUF012

    def __init__(
        self,
        n_features,
        n_classes,
        kind,
        eta=1.0,
        schedule="inv_sqrt",
        lam=0.001,
        eta_half_factor=1.0,
        loss="logistic",
        intercept=True,
    ):
        super().__init__(n_features, loss, intercept)
        self.eta, self.schedule, self.penalty, self.factor = eta, schedule, lam, eta_half_factor

    def move(self, gradients):
        step = self.eta * self.STEPS[self.schedule](self.t)
        u = [w - step * g for w, g in zip(self.w, gradients, strict=True)]
        self.w = [soft(v, self.factor * step * lam) for v, lam in zip(u, self.lam(self.penalty), strict=True)]


class RDA(Linear):
    def __init__(self, n_features, n_classes, kind, gamma=1.0, lam=0.001, decay=0.0, loss="logistic", intercept=True):
        super().__init__(n_features, loss, intercept)
        self.gamma, self.penalty, self.decay = gamma, lam, decay
        self.average = [0.0] * len(self.w)

    def move(self, gradients):
        a = max(1.0 / self.t, self.decay)
        horizon = min(self.t, 1.0 / self.decay) if self.decay > 0.0 else self.t
        self.average = [(1.0 - a) * G + a * g for G, g in zip(self.average, gradients, strict=True)]
        self.w = [
            -(math.sqrt(horizon) / self.gamma) * soft(G, lam)
            for G, lam in zip(self.average, self.lam(self.penalty), strict=True)
        ]


class FTRL(Linear):
    def __init__(self, n_features, n_classes, kind, alpha=0.1, beta=1.0, l1=0.001, l2=0.001, intercept=True):
        super().__init__(n_features, "logistic", intercept)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2
        self.z, self.n = [0.0] * len(self.w), [0.0] * len(self.w)

    def move(self, gradients):
        for i, g in enumerate(gradients):
            if g != 0.0:
                sigma = g**2 / (self.alpha * (math.sqrt(self.n[i] + g**2) + math.sqrt(self.n[i])))
                self.z[i] += g - sigma * self.w[i]
                self.n[i] += g**2
        for i, l1 in enumerate(self.lam(self.l1)):
            if abs(self.z[i]) <= l1:
                self.w[i] = 0.0
            else:
                bend = (self.beta + math.sqrt(self.n[i])) / self.alpha + self.l2
                self.w[i] = -(self.z[i] - math.copysign(l1, self.z[i])) / bend
