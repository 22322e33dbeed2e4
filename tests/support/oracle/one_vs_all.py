"""docs/algorithms/ensembles.md#ova: one two-class oracle per class, trained on class membership."""

from __future__ import annotations


class OneVsAll:
    def __init__(self, binary, n_features, n_classes, kind, **parameters):
        self.copies = [binary(n_features, 2, "binary", **parameters) for _ in range(n_classes)]
        self.kind = kind

    def score(self, x):
        scores = [copy.score(x)[0] for copy in self.copies]
        return [scores[1] - scores[0]] if self.kind == "binary" else scores

    def learn(self, x, y):
        for c, copy in enumerate(self.copies):
            copy.learn(x, float(y == c))
