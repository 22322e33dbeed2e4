"""The perceptron with the kernel (p.q)^2 on rows with the 1, stored as the list of its mistakes.

See docs/algorithms/online_to_batch.md#making-passes-cheap.
"""

from __future__ import annotations

from tests.support.oracle.protocol import extended, inner, sign_of


class Perceptron:
    def __init__(self, n_features, n_classes, kind, ties="update", intercept=True):
        self.ties, self.intercept = ties, intercept
        self.mistakes = []

    def score(self, x):
        x = extended(x, self.intercept)
        return [sum(y * inner(p, x) ** 2 for p, y in self.mistakes)]

    def learn(self, x, label):
        y, s = sign_of(label), self.score(x)[0]
        if y * s < 0.0 or (s == 0.0 and (self.ties == "update" or y < 0.0)):
            self.mistakes.append((extended(x, self.intercept), y))
