"""Gradient descent on five losses, its restarts, and Pegasos.

See docs/algorithms/linear.md#linear-learners, and docs/algorithms/conventions.md#step-size-schedules and
#loss-functions.
"""

from __future__ import annotations

import math

from tests.support.oracle.protocol import extended, inner, sign_of

GRADIENTS = {
    "hinge": lambda s, y, eps: -y if y * s < 1.0 else 0.0,
    "logistic": lambda s, y, eps: -y / (1.0 + math.exp(max(-700.0, min(700.0, y * s)))),
    "square": lambda s, y, eps: s - y,
    "eps_insensitive": lambda s, y, eps: 0.0 if abs(s - y) <= eps else (1.0 if s > y else -1.0),
    "huber": lambda s, y, eps: s - y if abs(s - y) <= eps else (eps if s > y else -eps),
}
STEPS = {"const": lambda t: 1.0, "inv_sqrt": lambda t: 1.0 / math.sqrt(t), "inv_t": lambda t: 1.0 / t}


class Descent:
    def __init__(self, n_features, kind, loss, eta, schedule, l2, radius, intercept, eps=0.1, safe_step=False):
        self.kind, self.loss, self.eta, self.schedule = kind, loss, eta, schedule
        self.l2, self.radius, self.eps, self.safe, self.intercept = l2, radius, eps, safe_step, intercept
        self.d = n_features + intercept
        self.forget()

    def forget(self):
        self.w, self.t = [0.0] * self.d, 0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x = extended(x, self.intercept)
        y = y if self.kind == "regression" else sign_of(y)
        self.t += 1
        step = self.eta * STEPS[self.schedule](self.t)
        if self.safe and self.loss in ("square", "huber") and inner(x, x) > 0.0:
            step = min(step, 1.0 / inner(x, x))
        g = GRADIENTS[self.loss](inner(self.w, x), y, self.eps)
        self.w = [(1.0 - step * self.l2) * w - step * g * v for w, v in zip(self.w, x, strict=True)]
        norm = math.hypot(*self.w)
        if self.radius and norm > self.radius:
            self.w = [w * self.radius / norm for w in self.w]


class Hinge(Descent):
    loss_name = "hinge"

    def __init__(self, n_features, n_classes, kind, eta=1.0, schedule="inv_sqrt", l2=0.0, radius=0.0, intercept=True):
        super().__init__(n_features, kind, self.loss_name, eta, schedule, l2, radius, intercept)


class Logistic(Hinge):
    loss_name = "logistic"


class Square(Descent):
    def __init__(self, n_features, n_classes, kind, loss="square", eps=0.1, safe_step=True, **given):
        options = {"eta": 1.0, "schedule": "inv_sqrt", "l2": 0.0, "radius": 0.0, "intercept": True, **given}
        super().__init__(n_features, kind, loss, eps=eps, safe_step=safe_step, **options)


class Huber(Descent):
    def __init__(self, n_features, n_classes, kind, delta=1.0, safe_step=True, **given):
        options = {"eta": 1.0, "schedule": "inv_sqrt", "l2": 0.0, "radius": 0.0, "intercept": True, **given}
        super().__init__(n_features, kind, "huber", eps=delta, safe_step=safe_step, **options)


class Restarted(Descent):
    def __init__(self, n_features, n_classes, kind, loss="logistic", delta=1000, safe_step=True, **given):
        options = {"eta": 1.0, "schedule": "inv_sqrt", "l2": 0.0, "radius": 0.0, "intercept": True, **given}
        super().__init__(n_features, kind, loss, safe_step=safe_step, **options)
        self.delta = delta

    def learn(self, x, y):
        super().learn(x, y)
        if self.t == self.delta:
            self.forget()


class Pegasos:
    def __init__(self, n_features, n_classes, kind, lam=0.001, project=True, intercept=True):
        self.lam, self.project, self.intercept = lam, project, intercept
        self.w, self.t = [0.0] * (n_features + intercept), 0

    def score(self, x):
        return [inner(self.w, extended(x, self.intercept))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        wrong = y * inner(self.w, x) < 1.0
        self.t += 1
        self.w = [(1.0 - 1.0 / self.t) * w for w in self.w]
        if wrong:
            self.w = [w + y * v / (self.lam * self.t) for w, v in zip(self.w, x, strict=True)]
        norm = math.hypot(*self.w)
        if self.project and norm > 0.0:
            shrink = min(1.0, 1.0 / (math.sqrt(self.lam) * norm))
            self.w = [shrink * w for w in self.w]
