"""Class probabilities from scores, and their quality: log loss and Brier score.

These exist only for learners whose scores map to probabilities, as declared by `Learner.link` and
`Learner.multiclass_link`. A margin of `pa1` gives the class, but no probability.
"""

import math
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Counts, Learner, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.metrics.classification import ratio
from driftway.learners.numeric.elementary.error_function import erfc
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log

LINKS = ("logistic", "probit", "softmax", "direct")
"""How scores become probabilities: 1 / (1 + exp(-s)), Phi(s), softmax(S), or they are probabilities."""

CLAMP = 1e-15
"""Probabilities are clamped to this distance from 0 and 1, as in River and scikit-learn; log loss could be infinite."""

HALF_ROOT = math.sqrt(0.5)


def link_of(learner: Learner) -> str | None:
    """Return how a learner's scores become probabilities, one of `LINKS`; None if they do not, or in regression."""
    return {"binary": learner.link, "multiclass": learner.multiclass_link}.get(learner.kind)


def probabilities(score: Array, link: str) -> Array:
    """Convert scores to class probabilities.

    Parameters
    ----------
    score : f8[n, k]
        As written by the learner: k = 1 with two classes, else K.
    link : str
        One of `LINKS`.

    Returns
    -------
    f8[n, K]
        In class order. They are not clamped.
    """
    out = np.empty((len(score), max(2, score.shape[1])))
    fill_probabilities(as_behaved(score), LINKS.index(link), out)
    return out


class ProbabilityMetrics:
    """Log loss and Brier score of the predicted probabilities, over all labelled rows.

    The log loss is the mean of -ln p of the label, p clamped to 1e-15..1 - 1e-15. The Brier score is the mean of
    (p - y)^2 with two classes, p the probability of class 1, and of its sum over all classes with more.

    Parameters
    ----------
    link : str
        One of `LINKS`.

    Source
    ------
    docs/algorithms/conventions.md#loss-functions and docs/algorithms/metrics.md#metrics; Brier, Monthly Weather Review
    78, 1950. Differs: the clamp, as in River.
    """

    def __init__(self, link: str) -> None:
        self.link = link
        self.labels = np.zeros(1, np.int64)
        self.totals = np.zeros(2)

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, k], y f8[n]; rows without a label are skipped."""
        sum_losses(probabilities(score, self.link), as_behaved(y), score.shape[1] == 1, self.labels, self.totals)

    def point(self) -> dict[str, Any]:
        """Return ``log_loss`` and ``brier``, None before the first label."""
        labels = int(self.labels[0])
        return {"log_loss": ratio(float(self.totals[0]), labels), "brier": ratio(float(self.totals[1]), labels)}


@kernel
def fill_probabilities(score: Array, link: int, out: Array) -> None:
    """Convert scores to probabilities; `link` is an index into LINKS.

    Shapes: score f8[n, 1] or f8[n, K], out f8[n, 2] or f8[n, K].
    """
    for t in range(score.shape[0]):
        if link == 0:
            s = score[t, 0]
            # Both from exp(-|s|): 1 - p would cancel the smaller of the two.
            e = exp(-abs(s))
            small, large = e / (1.0 + e), 1.0 / (1.0 + e)
            out[t, 1] = large if s >= 0.0 else small
            out[t, 0] = small if s >= 0.0 else large
        elif link == 1:
            out[t, 1] = 0.5 * erfc(-score[t, 0] * HALF_ROOT)
            out[t, 0] = 0.5 * erfc(score[t, 0] * HALF_ROOT)
        elif link == 2:
            largest = score[t, 0]
            for c in range(1, score.shape[1]):
                largest = max(largest, score[t, c])
            total = 0.0
            for c in range(score.shape[1]):
                out[t, c] = exp(score[t, c] - largest)
                total += out[t, c]
            for c in range(score.shape[1]):
                out[t, c] /= total
        else:
            for c in range(score.shape[1]):
                out[t, c] = score[t, c]


@kernel
def sum_losses(p: Array, y: Array, binary: bool, labels: Counts, totals: Array) -> None:
    """Add each labelled row's log loss and Brier score, in row order, so that batch boundaries do not matter.

    Shapes: p f8[n, K], y f8[n], labels i8[1], totals f8[2].
    """
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            continue
        label = int(y[t])
        totals[0] -= log(min(max(p[t, label], CLAMP), 1.0 - CLAMP))
        squares = 0.0
        for c in range(1 if binary else 0, p.shape[1]):
            miss = p[t, c] - (1.0 if c == label else 0.0)
            squares += miss * miss
        totals[1] += squares
        labels[0] += 1
