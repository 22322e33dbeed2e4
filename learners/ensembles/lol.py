"""Local online learning: a hyperplane for each region of the features."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    intercept,
    number,
    scratch,
)
from driftway.learners.numeric.vectors import dot
from driftway.learners.windows.distances import squared_distances

FAR = 1e50
"""Bound of C and 1 / lam: steps are at most C or C / lam times a row of finite square, so that their sum is finite."""
LONGEST_MEAN = 1000
"""Limit of the rows over which a prototype is a mean, so that it keeps following its region on long streams."""


class LOL(Learner):
    """Partitions the feature space by prototypes, each with its own correction of a common hyperplane.

    Learns curved and piecewise linear boundaries; lam sets how much all regions learn from a row and how much its own
    one does. Regions are by distance, so features should have about the same scale.

    s = (w + u_j)'x with j the nearest prototype. If the margin is below 1: w <- w + (tau / lam) y x,
    u_j <- u_j + tau y x with tau = min(C, [1 - y s]+ / (x'x (1 + 1 / lam))). Then the prototype moves to the mean of
    its rows.

    Cost
    ----
    O(m d) per row; 16 m d + 8 d + 16 bytes, m = prototypes.

    Source
    ------
    Huang, Online Learning, "Local online learning"; Zhou, Zheng, Hu, Xu and You, Online learning with multiple
    kernels or hyperplanes, Pattern Recognition 2016. docs/algorithms/ensembles.md#lol, whose step minimises
    lam / 2 |dw|^2 + 1 / 2 |du_j|^2 + C loss.
    """

    name = "lol"
    tasks = ("binary",)

    class Params(Parameters):
        prototypes: int = integer(10, "m, largest number of regions.", at_least=1, at_most=10_000)
        lam: float = number(
            1.0, "Resistance of the common hyperplane. Larger = each region learns for itself.", at_least=1.0 / FAR
        )
        C: float = number(0.1, "Largest step of a region's own hyperplane.", above=0.0, at_most=FAR)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        pull = LOLNumbers(LOLStep(p.C / p.lam, 1.0 / (1.0 + p.lam)), LOLStep(p.C, p.lam / (1.0 + p.lam)))
        return UpdateRule(score, learn, pull, LOLState, {"m": p.prototypes}, uses_weight=True)


class LOLStep(NamedTuple):
    """Step size of a hyperplane: min(cap, part loss / x'x)."""

    cap: float
    part: float


class LOLNumbers(NamedTuple):
    """Parameters of `lol`. tau and tau / lam are computed separately: 1 / lam may be infinite."""

    common: LOLStep
    own: LOLStep


class LOLState(NamedTuple):
    """State of `lol`. Prototypes are stored by columns, so that several distances are computed at a time."""

    prototype: Array = field("f8[n, m]", "without the intercept")
    rows: Counts = field("i8[m]", "labelled rows of each region")
    used: Counts = field("i8[1]", "prototypes so far", largest="m")
    common: Array = field("f8[d]", "w, weights of all regions, d with the intercept")
    own: Array = field("f8[m, d]", "u, weights that each region adds")
    skipped: Counts = field("i8[1]", "labelled rows whose score or length was not finite, or that are 0")
    squared: Array = scratch("f8[m]", "squared distances of the row")
    nearest: Array = scratch("f8[1]", "number of the nearest prototype, -1 if there is none or all are too far")


@fragment
def score(x: Array, _p: LOLNumbers, memory: LOLState) -> float:
    """Return the score of the row's region, or 0 before the first one. Shapes: x f8[d]."""
    used = memory.used[0]
    squared_distances(x, memory.prototype, used, memory.squared)
    nearest, least = -1, math.inf
    for j in range(used):
        if memory.squared[j] < least:
            nearest, least = j, memory.squared[j]
    memory.nearest[0] = nearest
    if nearest < 0:
        return 0.0 if used == 0 else math.nan
    own, s = memory.own[nearest], 0.0
    for i in range(x.shape[0]):
        s += (memory.common[i] + own[i]) * x[i]
    return s


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: LOLNumbers, memory: LOLState) -> None:
    """Move the row's margin to 1, as far as C allows, then move its prototype towards the row.

    Shapes: x f8[d]. docs/algorithms/ensembles.md#lol. The first distinct rows become the prototypes.
    """
    x2, j = dot(x, x), int(memory.nearest[0])
    new = memory.used[0] < memory.rows.shape[0] and (j < 0 or memory.squared[j] > 0.0)
    if new:
        j = memory.used[0]
    if not (math.isfinite(s) and 0.0 < x2 < math.inf):
        memory.skipped[0] += 1
        return
    loss = 1.0 - y * s
    if loss > 0.0:
        pull = loss / x2
        common = y * min(p.common.cap * omega, pull * p.common.part)
        own = y * min(p.own.cap * omega, pull * p.own.part)
        for i in range(x.shape[0]):
            memory.common[i] += common * x[i]
            memory.own[j, i] += own * x[i]
    if new:
        memory.used[0] += 1
    memory.rows[j] += 1
    share = 1.0 / min(memory.rows[j], LONGEST_MEAN)
    for i in range(memory.prototype.shape[0]):
        memory.prototype[i, j] += (x[i] - memory.prototype[i, j]) * share
