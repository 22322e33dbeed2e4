"""Drift detectors, computed from all errors since the last drift where that is fast enough.

See docs/algorithms/drift.md#drift-detectors.
"""

from __future__ import annotations

import math


class DDM:
    def __init__(self, min_n=30, warn=2.0, drift=3.0):
        self.min_n, self.warn, self.drift = min_n, warn, drift
        self.begin()

    def begin(self):
        self.errors, self.least = [], None

    def update(self, error):
        self.errors.append(bool(error))
        n = len(self.errors)
        p = sum(self.errors) / n
        sd = math.sqrt(p * (1.0 - p) / n)
        if n < self.min_n:
            return "none"
        if p > 0.0 and (self.least is None or p + sd <= sum(self.least)):
            self.least = (p, sd)
        if self.least is None:
            return "none"
        p_min, s_min = self.least
        if p + sd > p_min + self.drift * s_min:
            self.begin()
            return "drift"
        return "warning" if p + sd > p_min + self.warn * s_min else "none"


class EDDM:
    def __init__(self, warn=0.95, drift=0.9, min_errors=30):
        self.warn, self.drift, self.min_errors = warn, drift, min_errors
        self.begin()

    def begin(self):
        self.n, self.last, self.distances, self.largest = 0, 0, [], -1.0

    def update(self, error):
        self.n += 1
        if not error:
            return "none"
        self.distances.append(self.n - self.last)
        self.last = self.n
        if self.n <= 30:
            return "none"
        mean = sum(self.distances) / len(self.distances)
        v = mean + 2.0 * math.sqrt(sum((x - mean) ** 2 for x in self.distances) / len(self.distances))
        if v > self.largest:
            self.largest = v
        elif len(self.distances) > self.min_errors:
            if v / self.largest < self.drift:
                self.begin()
                return "drift"
            if v / self.largest < self.warn:
                return "warning"
        return "none"


class PageHinkley:
    def __init__(self, delta=0.005, lam=50.0, alpha=0.9999, min_n=30, direction="up"):
        self.delta, self.lam, self.alpha, self.min_n, self.direction = delta, lam, alpha, min_n, direction
        self.begin()

    def begin(self):
        self.n, self.mean, self.up, self.down, self.lowest, self.highest = 0, 0.0, 0.0, 0.0, math.inf, -math.inf

    def update(self, error):
        self.n += 1
        self.mean += (error - self.mean) / self.n
        self.up = self.alpha * self.up + error - self.mean - self.delta
        self.down = self.alpha * self.down + error - self.mean + self.delta
        self.lowest, self.highest = min(self.lowest, self.up), max(self.highest, self.down)
        risen = self.direction in ("up", "both") and self.up - self.lowest > self.lam
        fallen = self.direction in ("down", "both") and self.highest - self.down > self.lam
        if self.n >= self.min_n and (risen or fallen):
            self.begin()
            return "drift"
        return "none"


class HDDMA:
    def __init__(self, drift_conf=0.001, warn_conf=0.005, two_sided=False):
        self.drift_conf, self.warn_conf, self.two_sided = drift_conf, warn_conf, two_sided
        self.begin()

    def begin(self):
        self.errors, self.low, self.high = [], None, None

    def bound(self, n):
        return math.sqrt(math.log(1.0 / self.drift_conf) / (2.0 * n))

    def parted(self, cut, confidence, sign):
        n = len(self.errors)
        if cut == n:
            return False
        before, whole = sum(self.errors[:cut]) / cut, sum(self.errors) / n
        chance = math.sqrt(0.5 * (n - cut) / (cut * n) * math.log(2.0 / confidence))
        return sign * (whole - before) >= chance

    def update(self, error):
        self.errors.append(float(error))
        n = len(self.errors)

        def mean(cut):
            return sum(self.errors[:cut]) / cut

        if self.low is None or mean(self.low) + self.bound(self.low) >= mean(n) + self.bound(n):
            self.low = n
        if self.high is None or mean(self.high) - self.bound(self.high) <= mean(n) - self.bound(n):
            self.high = n
        drift, warning = (self.parted(self.low, c, 1.0) for c in (self.drift_conf, self.warn_conf))
        fallen = self.two_sided and self.parted(self.high, self.drift_conf, -1.0)
        if drift or fallen:
            self.begin()
        return "drift" if drift else "warning" if warning and not fallen else "none"


class HDDMW:
    def __init__(self, drift_conf=0.001, warn_conf=0.005, lam=0.05, two_sided=False):
        self.drift_conf, self.warn_conf, self.lam, self.two_sided = drift_conf, warn_conf, lam, two_sided
        self.begin()

    def begin(self):
        self.whole, self.low, self.rise, self.high, self.fall = [], None, [], None, []

    def average(self, errors):
        z, squares = errors[0], 1.0
        for error in errors[1:]:
            z += self.lam * (error - z)
            squares = self.lam**2 + (1.0 - self.lam) ** 2 * squares
        return z, squares

    def bound(self, squares, confidence):
        return math.sqrt(0.5 * squares * math.log(1.0 / confidence))

    def update(self, error):
        error = float(error)
        self.whole.append(error)
        z, squares = self.average(self.whole)
        chance = self.bound(squares, self.drift_conf)
        if self.low is None or z + chance < self.low[0] + self.bound(self.low[1], self.drift_conf):
            self.low, self.rise = (z, squares), []
        else:
            self.rise.append(error)
        if self.high is None or z - chance > self.high[0] - self.bound(self.high[1], self.drift_conf):
            self.high, self.fall = (z, squares), []
        else:
            self.fall.append(error)

        def parted(before, since, confidence, sign):
            if not since:
                return False
            late, weights = self.average(since)
            return sign * (late - before[0]) > self.bound(before[1] + weights, confidence)

        drift, warning = (parted(self.low, self.rise, c, 1.0) for c in (self.drift_conf, self.warn_conf))
        fallen = self.two_sided and parted(self.high, self.fall, self.drift_conf, -1.0)
        if drift or fallen:
            self.begin()
        return "drift" if drift else "warning" if warning and not fallen else "none"


class ADWIN:
    """Buckets as (rows, sum, squared deviations), oldest first."""

    def __init__(self, delta=0.002, clock=32, max_buckets=5, min_window=10, min_sub=5):
        self.delta, self.clock, self.most, self.min_window, self.min_sub = (
            delta,
            clock,
            max_buckets,
            min_window,
            min_sub,
        )
        self.seen, self.buckets, self.total, self.squares = 0, [], 0.0, 0.0

    @property
    def width(self):
        return sum(n for n, _, _ in self.buckets)

    def update(self, error):
        before = self.width
        if before:
            self.squares += before * (error - self.total / before) ** 2 / (before + 1)
        self.total += error
        self.buckets.append((1, float(error), 0.0))
        length = 1
        while sum(n == length for n, _, _ in self.buckets) > self.most:
            i = next(k for k, bucket in enumerate(self.buckets) if bucket[0] == length)
            (n, a, v), (_, b, w) = self.buckets[i : i + 2]
            self.buckets[i : i + 2] = [(2 * n, a + b, v + w + n * (a / n - b / n) ** 2 / 2.0)]
            length *= 2
        self.seen += 1
        found = "none"
        if self.seen % self.clock == 0 and self.width > self.min_window:
            while self.parts():
                n, total, squares = self.buckets.pop(0)
                self.total -= total
                self.squares -= squares + n * self.width * (total / n - self.total / self.width) ** 2 / (n + self.width)
                found = "drift"
        return found

    def parts(self):
        W = self.width
        L = math.log(2.0 * math.log(W) / self.delta)
        n_0 = sum_0 = 0.0
        for n, total, _ in self.buckets:
            n_0, sum_0 = n_0 + n, sum_0 + total
            n_1 = W - n_0
            if min(n_0, n_1) > self.min_sub + 1:
                m = 1.0 / (n_0 - self.min_sub + 1) + 1.0 / (n_1 - self.min_sub + 1)
                chance = math.sqrt(2.0 * m * self.squares / W * L) + 2.0 / 3.0 * m * L
                if abs(sum_0 / n_0 - (self.total - sum_0) / n_1) > chance:
                    return True
        return False
