"""What evaluation counts beside the rolling metrics: never part of a snapshot, so it may grow without breaking one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from learners.jit import bare_kernel
from learners.learner import REGRESSION, Array, Learner, plain
from learners.metrics.classification import kappa
from learners.metrics.probabilities import ProbabilityMetrics, link_of
from learners.metrics.regression import TINY


class OfflineMetrics:
    """Kappa-M, log loss and Brier score of classes; root mean squared error, NMSE and plain R2 of numbers.

    ``kappa_m`` is kappa against the prequential majority class. ``log_loss`` and ``brier`` exist where scores stand
    for probabilities (`link_of`). ``nmse`` is 1 - r2: the error in units of the running mean's. ``r2_overall`` is R2
    against the mean of all targets, which knows them only at the end: the textbook's, River's and scikit-learn's.

    Parameters
    ----------
    learner : Learner
        Whose scores these are.

    Source
    ------
    ALGORITHMS.md 16; Bifet et al., KDD 2015 (kappa-M); Welford, Technometrics 1962 (the targets' spread).
    """

    def __init__(self, learner: Learner) -> None:
        link = link_of(learner)
        self.task = learner.task
        self.probabilities = None if link is None else ProbabilityMetrics(link)
        self.spread = np.zeros(4)

    def observe(self, score: Array, y: Array) -> None:
        """Count in a batch: score f8[n, k], y f8[n]; rows without a label are passed over."""
        if self.task == REGRESSION:
            sum_spread(plain(score), plain(y), self.spread)
        elif self.probabilities is not None:
            self.probabilities.observe(score, y)

    def point(self, rolling: dict[str, Any]) -> dict[str, Any]:
        """The values now, None where nothing is defined; `rolling` is the point of the rolling metrics."""
        if self.task != REGRESSION:
            accuracy = kappa(rolling["accuracy"], rolling["majority_accuracy"])
            return {"kappa_m": accuracy, **(self.probabilities.point() if self.probabilities else {})}
        mse, r2 = rolling["mse"], rolling["r2"]
        labels, _, squares, errors = (float(v) for v in self.spread)
        usable = labels > 1 and squares >= TINY and math.isfinite(squares) and math.isfinite(errors)
        return {
            "rmse": None if mse is None else math.sqrt(mse),
            "nmse": None if r2 is None else 1.0 - r2,
            "r2_overall": 1.0 - errors / squares if usable else None,
        }


def robustness_ratios(values: list[float | None]) -> list[float | None]:
    """How many times better than the worst each learner of a group is: r_a = acc_a / min_b acc_b >= 1.

    Parameters
    ----------
    values : list of float or None
        Accuracy of each learner on one data set.

    Returns
    -------
    list of float or None
        None for all if one is not known, or the worst has none right.

    Source
    ------
    ALGORITHMS.md 16, DFOP section 5.3, after Vlachos et al., KDD 2002. Summed over data sets it ranks learners.
    """
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known or min(known) <= 0.0:
        return [None] * len(values)
    return [v / min(known) for v in known]


@bare_kernel
def sum_spread(score: Array, y: Array, spread: Array) -> None:
    """Count labelled rows, their mean, the squares of their distance from it, and the squared errors.

    Shapes: score f8[n, 1], y f8[n], spread f8[4].
    """
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            continue
        error = score[t, 0] - y[t]
        delta = y[t] - spread[1]
        spread[0] += 1.0
        spread[1] += delta / spread[0]
        spread[2] += delta * (y[t] - spread[1])
        spread[3] += error * error
