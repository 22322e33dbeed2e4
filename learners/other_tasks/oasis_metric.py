"""Similarity learned from triplets (OASIS)."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    field,
    fragment,
    number,
    scratch,
)
from driftway.learners.engine.parameters import TooFewFeatures
from driftway.learners.numeric.vectors import dot


class OASISMetric(Learner):
    """Which of two items is more like a third: a bilinear similarity p'W z that may weigh every pair of features.

    A row holds three items of equal width: p, a more similar one, p+, and a less similar one, p-. The score is
    p'W(p+ - p-), positive if the order is right. A row with a score below 1 moves W just enough to reach 1, but by at
    most C: W += min(C, (1 - s) / |p (p+ - p-)'|^2) p (p+ - p-)'. The label's value is ignored, but a row without a
    label is not learned. W need not be symmetric and starts as the identity.

    Cost
    ----
    O(d^2) per row, d the columns of an item; 8 d^2 + 8 bytes.

    Source
    ------
    Chechik, Sharma, Shalit and Bengio, Large Scale Online Learning of Image Similarity Through Ranking, JMLR 2010.
    docs/algorithms/other_tasks.md#oasis_metric.
    """

    name = "oasis_metric"
    tasks = ("binary",)

    class Params(Parameters):
        C: float = number(0.1, "Aggressiveness: largest step.", above=0.0)

    def rule(self) -> UpdateRule:
        if self.n_features < 3:
            raise TooFewFeatures(
                f"{self.name} reads three items with the same number of columns, got {self.n_features} columns", 3
            )
        if self.n_features % 3:
            raise ParameterError(
                f"{self.name} reads three items with the same number of columns: "
                f"{self.n_features} columns are not a multiple of 3"
            )
        return UpdateRule(
            order, learn, self.parameters.numbers(), OASISMetricState, {"c": self.n_features // 3}, uses_weight=True
        )

    def initialise(self) -> None:
        np.fill_diagonal(self.state["W"], 1.0)


class OASISMetricState(NamedTuple):
    """State of `oasis_metric`; c is the number of columns of an item."""

    W: Array = field("f8[c, c]", "the similarity's matrix, starts at I")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or of which an item or the difference is 0")
    apart: Array = scratch("f8[c]", "p+ - p-")


@fragment
def order(x: Array, _p: OASISMetric.Params, memory: OASISMetricState) -> float:
    """How much more similar the second item is to the first than the third; leaves p+ - p-. Shapes: x f8[3 c]."""
    apart, c = memory.apart, memory.apart.shape[0]
    for j in range(c):
        apart[j] = x[c + j] - x[2 * c + j]
    s = 0.0
    for i in range(c):
        s += x[i] * dot(memory.W[i], apart)
    return s


@fragment
def learn(x: Array, _y: float, omega: float, s: float, p: OASISMetric.Params, memory: OASISMetricState) -> None:
    """Move W towards the order of the row unless an entry would overflow. Shapes: x f8[3 c].

    docs/algorithms/other_tasks.md#oasis_metric.
    """
    apart, W, c = memory.apart, memory.W, memory.apart.shape[0]
    if s >= 1.0 and math.isfinite(s):
        return
    item = x[:c]
    squared = dot(item, item) * dot(apart, apart)
    step = min(p.C * omega, (1.0 - s) / squared)
    overflows = not (0.0 < squared < math.inf and math.isfinite(step))
    for i in range(c):
        for j in range(c):
            moved = W[i, j] + step * (item[i] * apart[j])
            overflows |= moved - moved != 0.0
    if overflows:
        memory.skipped[0] += 1
        return
    for i in range(c):
        for j in range(c):
            W[i, j] += step * (item[i] * apart[j])
