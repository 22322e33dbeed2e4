"""Where most values of each feature are, and what follows them: bins and the row of the experts."""

from __future__ import annotations

from math import sqrt


class Bulk:
    """Middles and spreads of the features' bulks, after each row on the scale that the standardiser then has."""

    def __init__(self, n):
        self.rows, self.last, self.changes, self.middle, self.spread = 0, [0.0] * n, [0] * n, [0.0] * n, [1.0] * n

    def row(self, z):
        return [self.spread_out(j, v) for j, v in enumerate(z)]

    def spread_out(self, j, v):
        share = min(max(2.0 * (0.125 - self.spread[j]) / 0.125, 0.0), 1.0)
        return (1.0 - share) * v + share * 2.0 * self.position(j, v)

    def bins(self, x, count):
        return [self.bin(j, v, count) for j, v in enumerate(x)]

    def bin(self, j, v, count):
        wide = v / (1.0 + abs(v))
        if self.spread[j] < 0.125:
            place = (0.5 + 0.25 * (wide + self.position(j, v))) * count + 0.5
        else:
            place = (0.5 + 0.5 * wide) * count
        return min(max(int(place), 0), count - 1)

    def position(self, j, v):
        away = v - self.middle[j]
        return away / (self.spread[j] + abs(away))

    def learn(self, z, raw):
        """`raw`: the row as it came, or None if z is not standardised."""
        self.rows += 1
        for j, v in enumerate(z):
            value = v if raw is None else raw[j]
            if value != self.last[j]:
                u, rate = self.position(j, v), 20.0 / (self.changes[j] + 40.0)
                self.middle[j] += rate * self.spread[j] * u
                self.spread[j] = max(self.spread[j] * (1.0 + rate * (abs(u) - 0.41)), 1e-6)
                self.changes[j] += 1
            self.last[j] = value
            if raw is not None and self.changes[j] >= 20:
                # Mean and deviation of n rows after the n-th, if those of the rows before it were 0 and 1.
                n = self.rows
                mean, deviation = v / n, sqrt((1.0 + v**2 / n) * ((n - 1.0) / n))
                self.middle[j] = (self.middle[j] - mean) / deviation
                self.spread[j] = max(self.spread[j] / deviation, 1e-6)
