"""The comparison of a class with all others, each weighted by its probability among them."""

from driftway.learners.contract import Array, kernel
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log


@kernel
def lead_over_others(S: Array, y: int, lead: Array) -> float:
    """Return ln(p / (1 - p)) of class y, with p its probability by softmax; write its gradient by the scores to `lead`.

    The gradient is 1 for y, and for each other class minus its probability if the class is not y. With two classes that
    is the difference of their scores. Shapes: S f8[K], lead f8[K].
    """
    rival, total = best_wrong(S, y), 0.0
    for c in range(S.shape[0]):
        lead[c] = exp(S[c] - S[rival]) if c != y else 0.0
        total += lead[c]
    for c in range(S.shape[0]):
        lead[c] = 1.0 if c == y else -lead[c] / total
    return S[y] - S[rival] - log(total)
