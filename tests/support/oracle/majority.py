"""docs/algorithms/ensembles.md#ensembles: weighted majority, with weights kept as logarithms."""

from __future__ import annotations

import math

from tests.support.oracle import multiclass, multiclass_covariance
from tests.support.oracle.bayesian import BayesProbit
from tests.support.oracle.ensembles import BASES, Expert, shares
from tests.support.oracle.romma import AROMMA

BASES |= {
    "aromma": AROMMA,
    "bayes_probit": BayesProbit,
    "mc_softmax": multiclass.Softmax,
    "mc_aromma": multiclass.AROMMA,
    "mc_arow": multiclass_covariance.AROW,
}
DEFAULT = {
    "binary": "ogd_logistic+aromma+bayes_probit/q=1e-3",
    "multiclass": "gaussian_nb+mc_softmax+mc_aromma+mc_arow/q=1e-4",
}


class WeightedMajority:
    def __init__(self, n_features, n_classes, kind, experts="default", beta=0.5, floor=0.05):
        names = (DEFAULT[kind] if experts == "default" else experts).split("+")
        self.experts = [Expert(name, n_features, n_classes, kind) for name in names]
        self.n_classes, self.beta, self.floor = n_classes, beta, floor
        self.logs = [0.0] * len(names)

    def weights(self):
        return [math.exp(one - max(self.logs)) for one in self.logs]

    def score(self, x):
        return shares([e.vote(x) for e in self.experts], self.weights(), self.n_classes)

    def learn(self, x, y):
        weights = self.weights()
        low = self.floor * math.fsum(weights) / len(weights)
        for i, e in enumerate(self.experts):
            if e.vote(x) != y and weights[i] > low:
                self.logs[i] += math.log(self.beta)
            e.learn(x, y)
