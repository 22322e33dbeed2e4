"""ALGORITHMS.md 17: drift detectors, on the whole list of errors since the last drift."""

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
