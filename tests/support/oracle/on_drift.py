"""docs/algorithms/drift.md#drift-detectors, policy wrapper; its learner and detector are oracles too."""

from __future__ import annotations

from copy import deepcopy

from tests.support.oracle import drift


class OnDrift:
    def __init__(self, base, n_features, n_classes, kind, detector="ddm", action="reset", **given):
        self.fresh = base(n_features, n_classes, kind, **given)
        self.learner, self.action = deepcopy(self.fresh), action
        name, *pairs = detector.split("/")
        given = {key: float(value) for key, value in (pair.split("=") for pair in pairs)}
        self.detector = {"ddm": drift.DDM, "adwin": drift.ADWIN, "hddm_w": drift.HDDMW}[name](**given)
        self.restarted = deepcopy(self.detector)
        self.copy, self.quiet, self.alarms = None, 0, 0

    def score(self, x):
        return self.learner.score(x)

    def learn(self, x, y):
        s = self.score(x)
        predicted = float(s[0] >= 0.0) if len(s) == 1 else float(s.index(max(s)))
        self.learner.learn(x, y)
        status = self.detector.update(float(predicted != y))
        self.quiet = self.quiet + 1 if status == "none" else 0
        if self.quiet == 1000:
            self.copy = None
        if self.action == "background":
            if status == "warning" and self.copy is None:
                self.copy = deepcopy(self.fresh)
            if self.copy is not None:
                self.copy.learn(x, y)
        if status != "drift":
            return
        self.alarms += 1
        self.detector = deepcopy(self.restarted)
        if self.action == "shrink":
            self.learner.P = deepcopy(self.fresh.P)
        elif self.copy is not None:
            self.learner, self.copy = self.copy, None
        else:
            self.learner = deepcopy(self.fresh)
            self.learner.learn(x, y)
