"""The mixture of forecasts of `auto`."""

from __future__ import annotations

from math import exp

from tests.support.oracle.auto.experts import LateResiduals
from tests.support.oracle.protocol import inner


def bounded(value, most):
    return min(max(value, -most), most)


class Stacking:
    """Mean weighted by recent losses of experts, and that mean corrected by a Kalman filter on their deviations."""

    def __init__(self, E):
        self.loss, self.of_both, self.share = [0.0] * E, [0.0, 0.0], [1.0 / E] * E
        self.weight, self.P = [0.0] * E, [[0.05 * (i == j) for j in range(E)] for i in range(E)]
        self.residuals = LateResiduals()

    def variance(self):
        return max(0.01 * min(self.loss), 1e-9)

    def both(self, said):
        mean = inner(self.share, said)
        away = [s - mean for s in said]
        return away, (mean, bounded(mean + inner(self.weight, away), 10.0))

    def say(self, said):
        said = [bounded(s, 10.0) for s in said]
        _, (mean, corrected) = self.both(said)
        ahead = (self.of_both[0] - self.of_both[1]) / (2.0 * self.variance())
        likely = exp(bounded(-ahead, 50.0))
        return (likely * mean + corrected) / (likely + 1.0)

    def learn(self, said, y, late=False):
        """`late`: the forecasts are those of the time when the row was forecast."""
        said = [bounded(s, 10.0) for s in said]
        away, both = self.both(said)
        rho = self.residuals.correlation([y - both[1]]) if late else 0.0
        count = (1.0 - rho) / (1.0 + rho)
        keep = 1.0 - 0.01 * count
        self.loss = [keep * loss + count * (y - s) ** 2 for loss, s in zip(self.loss, said, strict=True)]
        self.of_both = [keep * loss + count * (y - s) ** 2 for loss, s in zip(self.of_both, both, strict=True)]
        behind = [(loss - min(self.loss)) / (2.0 * self.variance()) for loss in self.loss]
        likely = [exp(-min(far, 50.0)) for far in behind]
        self.share = [one / sum(likely) for one in likely]
        for i in range(len(said)):
            self.P[i][i] += count * 1e-6 if self.P[i][i] < 0.05 else 0.0
        k = [inner(row, away) for row in self.P]
        total = max(0.01 * self.of_both[1], 1e-9) / count + max(inner(away, k), 0.0)
        self.weight = [w + (y - both[1]) * one / total for w, one in zip(self.weight, k, strict=True)]
        self.P = [[entry - k[i] * k[j] / total for j, entry in enumerate(row)] for i, row in enumerate(self.P)]
