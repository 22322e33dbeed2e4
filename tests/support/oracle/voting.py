"""The averaged perceptron as the sum of all its past weights, and the voted perceptron.

See docs/algorithms/linear.md#linear-learners.
"""

from __future__ import annotations

from tests.support.oracle.protocol import extended, inner, sign_of


class Averaged:
    def __init__(self, n_features, n_classes, kind, intercept=True):
        self.intercept = intercept
        self.w = [0.0] * (n_features + intercept)
        self.past = [self.w]

    def score(self, x):
        return [sum(inner(w, extended(x, self.intercept)) for w in self.past)]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        if y * inner(self.w, x) <= 0.0:
            self.w = [w + y * v for w, v in zip(self.w, x, strict=True)]
        self.past.append(self.w)


class Voted:
    def __init__(self, n_features, n_classes, kind, budget=256, intercept=True):
        self.budget, self.intercept = budget, intercept
        self.voters = [([0.0] * (n_features + intercept), 0)]

    def score(self, x):
        x = extended(x, self.intercept)
        return [float(sum(c if inner(w, x) >= 0.0 else -c for w, c in self.voters))]

    def learn(self, x, y):
        x, y = extended(x, self.intercept), sign_of(y)
        w, c = self.voters[-1]
        if y * inner(w, x) > 0.0:
            self.voters[-1] = (w, c + 1)
            return
        if len(self.voters) == self.budget:
            fewest = min(c for _, c in self.voters[:-1])
            self.voters.pop([c for _, c in self.voters].index(fewest))
        self.voters.append(([a + y * b for a, b in zip(w, x, strict=True)], 1))
