"""Gaussian naive Bayes."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment, number, scratch
from driftway.learners.numeric.elementary.logarithm import log

UNSEEN = -1e300
"""Score of a class that was never seen or has been forgotten, and the lower bound for all others."""
FORGOTTEN = 1e-100
"""Decayed count of rows below which a class is forgotten; much smaller sums would underflow."""


class GaussianNB(Learner):
    """Describes each class by mean and variance of every feature, and predicts the class that fits a row best.

    S_c = ln(n_c / n) - 1/2 sum_j [ln v_cj + (x_j - m_cj)^2 / v_cj]. It treats features as independent, and needs no
    scaling and few rows. With decay < 1 a row k rows ago has weight decay^k; use it if the classes drift. Without decay
    an outlier among the first rows stays in the moments, with a bounded effect: it cost one point with three classes.

    Cost
    ----
    O(K d) per row, with K d logarithms; 16 K d + 8 K + 8 bytes.

    Source
    ------
    Incremental Gaussian naive Bayes (docs/algorithms/bayesian.md#gaussian_nb) with the moments of Welford,
    Technometrics 1962. Binary score S_1 - S_0; while only one class has been seen, +1 or -1 for that class, and 0
    before.
    """

    name = "gaussian_nb"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "softmax"

    class Params(Parameters):
        var_floor: float = number(1e-09, "Least variance of a feature, unit of a squared feature.", above=0.0)
        decay: float = number(
            1.0,
            "Factor of the weight of earlier rows at each labelled row; 1 = forget nothing.",
            above=0.0,
            at_most=1.0,
        )

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, self.parameters.numbers(), GaussianNBState, classes=True)


class GaussianNBState(NamedTuple):
    """State of `gaussian_nb`."""

    # Overrides the tuple's method of that name.
    count: Array = field("f8[K]", "weight of each class's rows, 0 for one not seen")  # type: ignore[assignment]
    mean: Array = field("f8[K, d]", "means of the features")
    squares: Array = field("f8[K, d]", "weighted sums of squared deviations from the mean; v = squares / count")
    skipped: Counts = field("i8[1]", "labelled rows that would have overflowed the sums")
    S: Array = scratch("f8[K]", "the scores")


@fragment
def score(x: Array, p: GaussianNB.Params, memory: GaussianNBState) -> None:
    """Write the log-posterior of each class, or 1 for the only class seen so far of two.

    See docs/algorithms/bayesian.md#gaussian_nb.

    Shapes: x f8[d].
    """
    count, mean, squares = memory.count, memory.mean, memory.squares
    K = count.shape[0]
    total = 0.0
    for c in range(K):
        total += count[c]
    comparable = K > 2 or (count[0] > 0.0 and count[1] > 0.0)
    for c in range(K):
        if comparable:
            memory.S[c] = log_posterior(x, count[c], total, mean[c], squares[c], p.var_floor)
        else:
            memory.S[c] = 1.0 if count[c] > 0.0 else 0.0


@fragment
def log_posterior(x: Array, count: float, total: float, mean: Array, squares: Array, floor: float) -> float:
    """Return S_c, the class's log-posterior up to a constant common to all classes; UNSEEN if it is not finite.

    Shapes: x f8[d], mean f8[d], squares f8[d].
    """
    if count == 0.0:
        return UNSEEN
    misfit = 0.0
    for j in range(x.shape[0]):
        variance = max(squares[j] / count, floor)
        misfit += log(variance) + (x[j] - mean[j]) * (x[j] - mean[j]) / variance
    s = log(count / total) - 0.5 * misfit
    return max(s, UNSEEN) if math.isfinite(s) else UNSEEN


@fragment
def learn(x: Array, label: int, _omega: float, _finite: bool, p: GaussianNB.Params, memory: GaussianNBState) -> None:
    """Decay all classes and add the row to its own (Welford), or change nothing if a sum would overflow.

    Shapes: x f8[d]. docs/algorithms/bayesian.md#gaussian_nb.
    """
    count, mean, squares = memory.count, memory.mean, memory.squares
    now = p.decay * count[label] + 1.0
    overflows = False
    for j in range(x.shape[0]):
        delta = x[j] - mean[label, j]
        moved = mean[label, j] + delta / now
        grown = p.decay * squares[label, j] + delta * (x[j] - moved)
        overflows |= (moved - moved != 0.0) | (grown - grown != 0.0)
    if overflows:
        memory.skipped[0] += 1
        return
    if p.decay < 1.0:
        fade(p.decay, memory)
    count[label] += 1.0
    for j in range(x.shape[0]):
        delta = x[j] - mean[label, j]
        mean[label, j] += delta / count[label]
        squares[label, j] += delta * (x[j] - mean[label, j])


@fragment
def fade(decay: float, memory: GaussianNBState) -> None:
    """Decay all classes, and forget those with almost no weight left."""
    for c in range(memory.count.shape[0]):
        memory.count[c] *= decay
        for j in range(memory.squares.shape[1]):
            memory.squares[c, j] *= decay
        if memory.count[c] < FORGOTTEN:
            memory.count[c] = 0.0
            for j in range(memory.mean.shape[1]):
                memory.mean[c, j] = 0.0
                memory.squares[c, j] = 0.0
