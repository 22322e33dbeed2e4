"""Metrics for evaluation besides the rolling ones; never part of a snapshot, so new ones do not break old snapshots."""

import math
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Learner, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.learner import REGRESSION
from driftway.learners.metrics.classification import check_memory, kappa
from driftway.learners.metrics.confusion import ConfusionMetrics
from driftway.learners.metrics.kappas import KappaMetrics
from driftway.learners.metrics.margins import MarginMetrics
from driftway.learners.metrics.probabilities import ProbabilityMetrics, link_of
from driftway.learners.metrics.regression import TINY, explained


class OfflineMetrics:
    """Classification: kappas, confusion matrix, AUC and losses; regression: RMSE, NMSE and plain R2.

    ``kappa_m`` is kappa against the prequential majority class; `KappaMetrics` has the windowed and fading ones,
    `ConfusionMetrics` those of the confusion matrix. With two classes there are `MarginMetrics`; if scores map to
    probabilities (`link_of`), ``log_loss`` and ``brier``. ``nmse`` is 1 - r2, the error relative to the running mean's;
    it, ``rmse`` and ``r2`` are also windowed and fading. ``r2_overall`` is R2 against the mean of all targets, which is
    known only at the end, as in textbooks, River and scikit-learn.

    Parameters
    ----------
    learner : Learner
        The learner that computes the scores.
    window : int
        Rows of the rolling window, >= 1. Default 1000.
    fading : float
        Weight of the past per row, 0 < fading <= 1. Default 0.999.

    Raises
    ------
    ValueError
        A window without rows, or a fading factor outside (0, 1].

    Source
    ------
    docs/algorithms/metrics.md#metrics; Bifet et al., KDD 2015 (kappa-M); Welford, Technometrics 1962 (the targets'
    spread).
    """

    def __init__(self, learner: Learner, window: int = 1000, fading: float = 0.999) -> None:
        check_memory(window, fading)
        self.fading = float(fading)
        self.of_classes: list[KappaMetrics | ConfusionMetrics | MarginMetrics | ProbabilityMetrics] = []
        if learner.task != REGRESSION:
            shape = learner.n_classes, learner.n_scores
            self.of_classes += [KappaMetrics(*shape, window, fading), ConfusionMetrics(*shape)]
        if learner.kind == "binary":
            self.of_classes.append(MarginMetrics(window))
        link = link_of(learner)
        if link is not None:
            self.of_classes.append(ProbabilityMetrics(link))
        self.spread = np.zeros(6)

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, k], y f8[n]; rows without a label are skipped."""
        for metrics in self.of_classes:
            metrics.observe(score, y)
        if not self.of_classes:
            sum_spread(as_behaved(score), as_behaved(y), self.fading, self.spread)

    def point(self, rolling: dict[str, Any]) -> dict[str, Any]:
        """Return the current values, None for undefined ones; `rolling` is the `point` of the rolling metrics."""
        if self.of_classes:
            values = {"kappa_m": kappa(rolling["accuracy"], rolling["majority_accuracy"])}
            for metrics in self.of_classes:
                values.update(metrics.point())
            return values
        labels, _, squares, errors, faded, faded_of_mean = (float(v) for v in self.spread)
        usable = labels > 1 and squares >= TINY and math.isfinite(squares) and math.isfinite(errors)
        fading_r2 = explained(faded, faded_of_mean)
        rolling = {**rolling, "fading_r2": fading_r2 if fading_r2 is not None and math.isfinite(fading_r2) else None}
        forms = ("", "window_", "fading_")
        return {
            **{f"{form}rmse": None if (v := rolling[f"{form}mse"]) is None else math.sqrt(v) for form in forms},
            **{f"{form}nmse": None if (v := rolling[f"{form}r2"]) is None else 1.0 - v for form in forms},
            "fading_r2": rolling["fading_r2"],
            "r2_overall": 1.0 - errors / squares if usable else None,
        }


def robustness_ratios(values: list[float | None]) -> list[float | None]:
    """Return the ratio of each learner's accuracy to the worst in the group: r_a = acc_a / min_b acc_b >= 1.

    Parameters
    ----------
    values : list of float or None
        Accuracy of each learner on one data set.

    Returns
    -------
    list of float or None
        None for all if one is not known or the worst is 0.

    Source
    ------
    docs/algorithms/metrics.md#metrics, DFOP section 5.3, after Vlachos et al., KDD 2002. Summed over data sets it ranks
    learners.
    """
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known or min(known) <= 0.0:
        return [None] * len(values)
    return [v / min(known) for v in known]


@kernel
def sum_spread(score: Array, y: Array, fading: float, spread: Array) -> None:
    """Update count, mean and squared deviations of the targets, the squared errors, and two fading sums.

    The latter are squared errors of the learner and of the preceding rows' mean, without the first row, which has none.
    Shapes: score f8[n, 1], y f8[n], spread f8[6].
    """
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            continue
        error = score[t, 0] - y[t]
        delta = y[t] - spread[1]
        if spread[0] > 0.0:
            spread[4] = error * error + fading * spread[4]
            spread[5] = delta * delta + fading * spread[5]
        spread[0] += 1.0
        spread[1] += delta / spread[0]
        spread[2] += delta * (y[t] - spread[1])
        spread[3] += error * error
