"""How strongly scores favour the predicted class: its log-odds, or its margin over the next class."""

import math

import numpy as np

from driftway.learners.contract import Array, Counts, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.metrics.probabilities import HALF_ROOT, LINKS
from driftway.learners.numeric.elementary.error_function import erfc
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log

MARGIN = -1
"""Not an index into LINKS: scores that are no probabilities."""


def evidence_of(score: Array, predicted: Counts, link: str | None) -> Array:
    """Return the evidence for the predicted class of each row, f8[n]: perhaps infinite, but not NaN.

    Parameters
    ----------
    score : f8[n, k]
        As written by a learner, finite or not.
    predicted : i8[n]
        The classes that they predict, see `driftway.learners.metrics.prequential.predicted_class`.
    link : str or None
        How scores map to probabilities, one of `LINKS`: the evidence is the log-odds of the predicted class. None:
        they do not; it is |score|, or with several classes the best score minus the next.
    """
    out = np.empty(len(score))
    write_evidence(as_behaved(score), predicted, MARGIN if link is None else LINKS.index(link), out)
    return out


@kernel
def write_evidence(score: Array, predicted: Counts, link: int, out: Array) -> None:
    """Write the evidence of each row; `link` is an index into LINKS, or MARGIN.

    Shapes: score f8[n, 1] or f8[n, K], predicted i8[n], out f8[n].
    """
    for t in range(score.shape[0]):
        if score.shape[1] == 1:
            found = abs(score[t, 0])
            if link == 1:
                rest = 0.5 * erfc(found * HALF_ROOT)
                found = log((1.0 - rest) / rest) if rest > 0.0 else math.inf
        else:
            best, others, p = score[t, predicted[t]], -math.inf, 0.0
            for c in range(score.shape[1]):
                if c != predicted[t]:
                    others = max(others, score[t, c])
                    if link == 2:
                        p += exp(score[t, c] - best)
                    elif link == 3:
                        p += score[t, c]
            if link == 2:
                found = -log(p) if p > 0.0 else math.inf
            elif link == 3:
                found = log(best / p) if p > 0.0 else math.inf
            else:
                found = best - others
        out[t] = 0.0 if math.isnan(found) else found
