"""The experts of `auto` on single values of features, with any number of values."""

from __future__ import annotations

from collections import defaultdict
from math import pi, sqrt

from tests.support.oracle.auto.experts import Scores, over_others, sigmoid
from tests.support.oracle.protocol import inner


class Table:
    """Which values of which columns have come. A row is a value for each column, None where it is not looked at."""

    def __init__(self, columns):
        self.rows, self.seen, self.entered, self.known = [0] * columns, set(), [0] * columns, [0.0] * columns

    def used(self, j):
        return self.entered[j] >= 3 and self.known[j] > 0.7

    def counted(self, row):
        """The columns whose values are counted, with their values."""
        tried = [self.rows[j] < 1024 or (self.entered[j] >= 3 and self.known[j] >= 0.25) for j in range(len(row))]
        return [(j, v) for j, v in enumerate(row) if tried[j] and v is not None]

    def any_used(self, row):
        return any(self.used(j) for j, _ in self.counted(row))

    def weighted(self, row):
        """Those of the row's values that have a weight."""
        return [entry for entry in self.counted(row) if self.used(entry[0]) and entry in self.seen]

    def count(self, row):
        for j, v in self.counted(row):
            known = (j, v) in self.seen
            self.seen.add((j, v))
            self.entered[j] += not known
            self.known[j] += (known - self.known[j]) / 256.0
            self.rows[j] += 1


class ClassValues:
    """Logistic regression on the features, and on each value of those whose values return."""

    def __init__(self, K, d, mixture):
        self.linear, self.variances, self.mixture = Scores(K, d), [1.0] * d, mixture
        self.table, self.of = Table(d), defaultdict(lambda: [Scores(K, 1), 1.0])

    def any_used(self, raw):
        return self.table.any_used(raw)

    def margins(self, z, raw):
        """What it says of each class, and the variance of that."""
        S, spread = self.linear.of(z), sum(p * v * v for p, v in zip(self.variances, z, strict=True))
        for weights, variance in (self.of[entry] for entry in self.table.weighted(raw)):
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
        self.table.count(raw)

    def learn_weights(self, z, raw, y):
        S, spread = self.margins(z, raw)
        lead, by_class = over_others(S, y)
        p = sigmoid(lead / sqrt(1.0 + pi / 8.0 * spread))
        h = max(p * (1.0 - p), 0.02)
        share = 1.0 / (1.0 / h + spread)
        steps = [0.5 * (1.0 - p) / h * share * one for one in by_class]
        self.linear.move([p * v for p, v in zip(self.variances, z, strict=True)], steps)
        self.variances = [min(p - (p * v) ** 2 * share + 1e-5, 1.0) for p, v in zip(self.variances, z, strict=True)]
        for entry in self.table.weighted(raw):
            weights, variance = self.of[entry]
            weights.move([variance], steps)
            self.of[entry][1] = min(variance - variance**2 * share + 3e-3, 1.0)


class Kalman:
    """A linear forecast from the features and weights of values; its weights learn by a diagonal Kalman filter."""

    def __init__(self, d):
        self.w, self.P, self.noise, self.of = [0.0] * d, [1.0] * d, 1.0, defaultdict(lambda: [0.0, 1.0])

    def say(self, z, values):
        return inner(self.w, z) + sum(self.of[value][0] for value in values)

    def learn(self, z, values, left):
        spread = sum(p * v * v for p, v in zip(self.P, z, strict=True)) + sum(self.of[value][1] for value in values)
        share = 1.0 / (self.noise + spread)
        self.w = [w + left * share * p * v for w, p, v in zip(self.w, self.P, z, strict=True)]
        self.P = [min(p - share * (p * v) ** 2 + 1e-5, 1.0) for p, v in zip(self.P, z, strict=True)]
        for value in values:
            w, p = self.of[value]
            self.of[value] = [w + left * share * p, min(p - share * p**2 + 1e-3, 1.0)]
        self.noise += 0.01 * (max(left**2 - spread, 1e-6) - self.noise)


class TargetValues:
    """Forecasts of the target, and of what all other experts leave; each without pairs of values, and with them."""

    def __init__(self, d, stacking):
        first = min(d - 1, 16)
        self.columns = [(i, j) for i in range(first) for j in range(i)]
        self.table, self.pairs = Table(d), Table(len(self.columns))
        self.of_target, self.of_left = (Kalman(d), Kalman(d)), (Kalman(d), Kalman(d))
        self.stacking, self.loss = stacking, [0.0, 0.0]
        self.stacking.share = [1.0, 0.0, 0.0, 0.0, 0.0]

    def paired(self, raw):
        """The values of the pairs of features."""
        used = self.table.used
        return [(raw[i], raw[j]) if used(i) and used(j) else None for i, j in self.columns]

    def weighted(self, raw):
        """The values that have weights: those of features, and the same with those of pairs."""
        single = self.table.weighted(raw)
        return single, single + [("pair", entry) for entry in self.pairs.weighted(self.paired(raw))]

    def said(self, z, raw, others):
        """The forecasts of all others, of the four here, and of the mixture; None if no feature is used."""
        if not self.table.any_used(raw):
            return None
        values = self.weighted(raw)
        said = [others]
        for of_target, of_left, own in zip(self.of_target, self.of_left, values, strict=True):
            said += [of_target.say(z, own), others + of_left.say(z, own)]
        said = [min(max(one, -10.0), 10.0) for one in said]
        return [*said, self.stacking.say(said)]

    def score(self, z, raw, others):
        said = self.said(z, raw, others)
        return others if said is None or self.loss[1] > 0.99 * self.loss[0] else said[-1]

    def learn(self, z, raw, others, level, cached):
        """`cached`: what they said when the row was forecast, a list with None or the forecasts, if it is late."""
        said = self.said(z, raw, others)
        judged = said if cached is None else cached[0]
        if said is not None:
            for i, own in enumerate(self.weighted(raw)):
                self.of_target[i].learn(z, own, level - said[1 + 2 * i])
                self.of_left[i].learn(z, own, level - said[2 + 2 * i])
            self.pairs.count(self.paired(raw))
        self.table.count(raw)
        if judged is not None:
            errors = level - judged[0], level - judged[-1]
            self.loss = [loss + 0.001 * (error**2 - loss) for loss, error in zip(self.loss, errors, strict=True)]
            self.stacking.learn(judged[:-1], level, late=cached is not None)
