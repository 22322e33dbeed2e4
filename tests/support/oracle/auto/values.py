"""The experts of `auto` on single values of features, with any number of values."""

from __future__ import annotations

from math import pi, sqrt

from tests.support.oracle.auto.experts import Scores, over_others, sigmoid
from tests.support.oracle.protocol import inner


class Values:
    """Which values of which features have come, and what is kept of each of them."""

    def __init__(self, d):
        self.rows, self.of, self.entered, self.known = 0, {}, [0] * d, [0.0] * d

    def used(self, j):
        return self.entered[j] >= 3 and self.known[j] > 0.7

    def counted(self, j):
        return self.rows < 1024 or (self.entered[j] >= 3 and self.known[j] >= 0.25)

    def any_used(self, raw):
        return any(self.counted(j) and self.used(j) for j in range(len(raw)))

    def mine(self, raw):
        """What is kept of the row's values."""
        return [self.of[j, v] for j, v in enumerate(raw) if self.counted(j) and self.used(j) and (j, v) in self.of]

    def count(self, raw):
        for j, v in enumerate(raw):
            if self.counted(j):
                known = (j, v) in self.of
                if not known:
                    self.of[j, v] = self.new()
                    self.entered[j] += 1
                self.known[j] += (known - self.known[j]) / 256.0
        self.rows += 1


class ClassValues(Values):
    """Logistic regression on the features, and on each value of those whose values return."""

    def __init__(self, K, d, mixture):
        super().__init__(d)
        self.K, self.linear, self.variances, self.mixture = K, Scores(K, d), [1.0] * d, mixture

    def new(self):
        return [Scores(self.K, 1), 1.0]

    def margins(self, z, raw):
        """What it says of each class, and the variance of that."""
        S, spread = self.linear.of(z), sum(p * v * v for p, v in zip(self.variances, z, strict=True))
        for weights, variance in self.mine(raw):
            S = [s + w for s, w in zip(S, weights.of([1.0]), strict=True)]
            spread += variance
        return S, spread

    def both(self, z, raw, S):
        own, spread = self.margins(z, raw)
        return [S, [s / sqrt(1.0 + pi / 8.0 * spread) for s in own]]

    def score(self, z, raw, S):
        return self.mixture.mixed(self.both(z, raw, S)) if self.any_used(raw) else S

    def learn(self, z, raw, both, y, late):
        """`both`: the scores of all others and of this one, by which the row was predicted, if this one took part."""
        if both is not None:
            self.mixture.learn(both, y, late)
        if self.any_used(raw):
            self.learn_weights(z, raw, y)
        self.count(raw)

    def learn_weights(self, z, raw, y):
        S, spread = self.margins(z, raw)
        lead, by_class = over_others(S, y)
        p = sigmoid(lead / sqrt(1.0 + pi / 8.0 * spread))
        h = max(p * (1.0 - p), 0.02)
        share = 1.0 / (1.0 / h + spread)
        steps = [0.5 * (1.0 - p) / h * share * one for one in by_class]
        self.linear.move([p * v for p, v in zip(self.variances, z, strict=True)], steps)
        self.variances = [min(p - (p * v) ** 2 * share + 1e-5, 1.0) for p, v in zip(self.variances, z, strict=True)]
        for entry in self.mine(raw):
            entry[0].move([entry[1]], steps)
            entry[1] = min(entry[1] - entry[1] ** 2 * share + 3e-3, 1.0)


class Kalman:
    """A linear forecast from the features and weights of values; its weights learn by a diagonal Kalman filter."""

    def __init__(self, d):
        self.w, self.P, self.noise = [0.0] * d, [1.0] * d, 1.0

    def forecast(self, z, values):
        return inner(self.w, z) + sum(w for w, _ in values)

    def learn(self, z, values, left):
        spread = sum(p * v * v for p, v in zip(self.P, z, strict=True)) + sum(p for _, p in values)
        share = 1.0 / (self.noise + spread)
        self.w = [w + left * share * p * v for w, p, v in zip(self.w, self.P, z, strict=True)]
        self.P = [min(p - share * (p * v) ** 2 + 1e-5, 1.0) for p, v in zip(self.P, z, strict=True)]
        for entry in values:
            entry[:] = [entry[0] + left * share * entry[1], min(entry[1] - share * entry[1] ** 2 + 1e-3, 1.0)]
        self.noise += 0.01 * (max(left**2 - spread, 1e-6) - self.noise)


class TargetValues(Values):
    """A forecast of the target, and one of what all other experts leave, mixed with theirs while that is better."""

    def __init__(self, d, stacking):
        super().__init__(d)
        self.level, self.left, self.stacking, self.loss = Kalman(d), Kalman(d), stacking, [0.0, 0.0]
        self.stacking.share = [1.0, 0.0, 0.0]

    def new(self):
        return [0.0, 1.0], [0.0, 1.0]

    def of_row(self, raw):
        """The weights and variances of the row's values, for each of both."""
        return [[entry[e] for entry in self.mine(raw)] for e in range(2)]

    def said(self, z, raw, others):
        """The forecasts of all others, of the target, of what is left, and of the mixture; None if none is used."""
        if not self.any_used(raw):
            return None
        of_level, of_left = self.of_row(raw)
        said = [others, self.level.forecast(z, of_level), others + self.left.forecast(z, of_left)]
        return [*(min(max(one, -10.0), 10.0) for one in said), self.stacking.say(said)]

    def score(self, z, raw, others):
        said = self.said(z, raw, others)
        return others if said is None or self.loss[1] > 0.99 * self.loss[0] else said[-1]

    def learn(self, z, raw, others, level, cached):
        """`cached`: what they said when the row was forecast, a list with None or the forecasts, if it is late."""
        said = self.said(z, raw, others)
        judged = said if cached is None else cached[0]
        if said is not None:
            of_level, of_left = self.of_row(raw)
            self.level.learn(z, of_level, level - said[1])
            self.left.learn(z, of_left, level - said[2])
        self.count(raw)
        if judged is not None:
            errors = level - judged[0], level - judged[-1]
            self.loss = [loss + 0.001 * (error**2 - loss) for loss, error in zip(self.loss, errors, strict=True)]
            self.stacking.learn(judged[:-1], level, late=cached is not None)
