"""docs/decisions/0057: thresholds of conformal scores, one row or label at a time, in plain Python."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

INFINITE = math.inf


def distance(score, label):
    """Conformal score of a target."""
    return abs(label - score[0])


def lag(score, label):
    """Conformal score of a class: how far it is behind the best other class."""
    scores = [-score[0] / 2, score[0] / 2] if len(score) == 1 else list(score)
    others = [s for c, s in enumerate(scores) if c != label]
    return max(others) - scores[label]


@dataclass
class Oracle:
    """One level; rows are named by the caller, and their labels may come at any later time, or never."""

    coverage: float
    signed: bool
    labels: int = 0
    emitted: int = 0
    first: list = field(default_factory=list)
    experts: dict = field(default_factory=dict)
    weights: dict = field(default_factory=lambda: dict.fromkeys((0.01, 0.03, 0.1, 0.3), 0.25))
    correction: float = 0.0
    scale: float = 0.0
    far: list = field(default_factory=list)
    far_from_scale: list = field(default_factory=list)
    waiting: dict = field(default_factory=dict)
    covered: list = field(default_factory=list)

    @property
    def least(self):
        """Labels until a threshold is finite: with n of them, the (n + 1)(coverage)-th smallest must exist."""
        n = 1
        while (n + 1) * self.coverage > n + 1e-9:
            n += 1
        return n

    def axis(self, score):
        if self.signed:
            place = math.copysign(math.log(1 + abs(score) / self.scale), score) if self.scale else 0.0
        else:
            place = math.log(score) if score > 0 else -745.0
        return min(max(place, -745.0), 709.0)

    def back(self, place):
        if self.signed:
            return math.copysign((math.exp(abs(place)) - 1) * self.scale, place)
        return math.exp(place) if place > -745.0 else 0.0

    def predict(self, name):
        """Emit the threshold of a row."""
        found = INFINITE
        if self.labels >= self.least:
            found = self.back(self.correction + sum(self.weights[step] * self.experts[step] for step in self.weights))
        self.emitted += 1
        self.waiting[name] = found, self.emitted, dict(self.experts)
        return found

    def label(self, name, score, covered=None):
        """Learn from the conformal score of a row's label; `covered` if it is not whether the threshold holds it."""
        threshold, number, then = self.waiting.pop(name)
        covered = score <= threshold if covered is None else covered
        self.covered.append(covered)
        self.labels += 1
        if self.labels <= self.least:
            self._rescale(abs(score))
            self.first.append(score)
            if self.labels == self.least:
                self.experts = dict.fromkeys(self.weights, self.axis(max(self.first)))
            return
        at, c = self.axis(score), self.coverage
        if math.isfinite(threshold):
            for step in self.weights:
                d = max(-2.0, min(2.0, at - then[step]))
                self.weights[step] *= math.exp(-0.2 * max(c * d, (c - 1) * d))
            gain = 0.03 / (1 + 0.03 * (self.emitted - number))
            self.correction = max(-1.0, min(5.0, self.correction + gain * (c - covered)))
        whole = sum(self.weights.values())
        self.weights = {step: 0.999 * w / whole + 0.001 / 4 for step, w in self.weights.items()}
        for step, place in self.experts.items():
            eta = max(step, 1 / math.sqrt(self.labels - self.least))
            self.experts[step] = place + eta * (c - (at <= place))
        self._catch_up(at)
        self._rescale(abs(score))

    def _catch_up(self, at):
        fastest = self.experts[0.3]
        if abs(at - fastest) <= 3.0:
            self.far = []
        else:
            if self.far and (self.far[-1] > fastest) != (at > fastest):
                self.far = []
            self.far.append(at)
            share = 1 - self.coverage if at > fastest else self.coverage
            if share ** len(self.far) <= 0.001:
                fastest, self.far = max(self.far), []
        fastest = max(-745.0, min(709.0, fastest))
        near = {s: max(fastest - 3.0, min(fastest + 3.0, p)) for s, p in self.experts.items()}
        self.experts = {s: max(-745.0, min(709.0, p)) for s, p in near.items()}
        self.experts[0.3] = fastest

    def _rescale(self, size):
        if size == 0.0 or not self.signed:
            return
        if self.scale == 0.0:
            self.scale = max(1e-300, min(1e300, size))
            return
        before, larger = self.scale, size > self.scale
        self.scale = before * math.exp(0.05 if larger else -0.05)
        if not before / 20 <= size <= before * 20:
            if self.far_from_scale and self.far_from_scale[-1] != larger:
                self.far_from_scale = []
            self.far_from_scale.append(larger)
        else:
            self.far_from_scale = []
        if len(self.far_from_scale) == 10:
            self.far, self.far_from_scale = [], []
            self.scale = before
            real = {step: self.back(place) for step, place in self.experts.items()}
            self.scale = size
            self.experts = {step: self.axis(value) for step, value in real.items()}
        self.scale = max(1e-300, min(1e300, self.scale))
