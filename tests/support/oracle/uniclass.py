"""One-class passive-aggressive learning; a learned radius is an explicit additional dimension.

See docs/algorithms/linear.md#linear-learners.
"""

from __future__ import annotations

import math

from tests.support.oracle.protocol import inner


class PA:
    def __init__(self, n_features, n_classes, kind, eps="auto", eps_max="auto", C=0.1):
        self.lifted, self.C, self.w = eps == "learned", C, None
        if self.lifted:
            self.radius = 2.0 * math.sqrt(n_features) if eps_max == "auto" else eps_max
        else:
            self.radius = math.sqrt(n_features) if eps == "auto" else eps

    def away(self, x):
        point = [*x, 0.0] if self.lifted else list(x)
        gap = [p - w for p, w in zip(point, self.w, strict=True)]
        return gap, math.sqrt(inner(gap, gap))

    def score(self, x):
        return [0.0 if self.w is None else self.radius - self.away(x)[1]]

    def learn(self, x, y):
        if self.w is None:
            self.w = [*x, self.radius] if self.lifted else list(x)
            return
        gap, length = self.away(x)
        loss = max(0.0, length - self.radius)
        if loss > 0.0:
            self.w = [w + self.tau(loss) * g / length for w, g in zip(self.w, gap, strict=True)]

    def tau(self, loss):
        return loss


class PA1(PA):
    def tau(self, loss):
        return min(self.C, loss)


class PA2(PA):
    def tau(self, loss):
        return loss / (1.0 + 1.0 / (2.0 * self.C))
