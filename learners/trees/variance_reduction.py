"""The split of a leaf that reduces the variance of the targets most, by histograms.

Numeric columns: every border between bins. Nominal ones: each id against all others.
"""

from typing import NamedTuple

from driftway.learners.contract import Array, kernel
from driftway.learners.trees.information_gain import LEAST_SHARE, better
from driftway.learners.trees.target_leaves import (
    BASE,
    BINS,
    MEAN,
    SQUARES,
    WEIGHT,
    WIDTH,
    TargetLeaves,
    TargetWork,
)


class BestSplit(NamedTuple):
    """The best split of a leaf, and what the second best column would give."""

    tested: int
    """Column, or d + column for an id; -1 if there is none."""
    threshold: float
    gain: float
    """Reduction of the variance by the best column, as a share of the variance."""
    second: float
    """Reduction by the second best column."""
    weight: float
    """Weight of the rows on the left."""
    mean: float
    """Mean of their targets, minus the leaf's origin."""


@kernel
def reduction(weight: float, total: float, left: float, sum_left: float) -> float:
    """Return by how much a split reduces the sum of squared deviations; -1 if a side is too small.

    That is S_l^2 / n_l + S_r^2 / n_r - S^2 / n.
    """
    right, sum_right = weight - left, total - sum_left
    if left <= 0.0 or right <= 0.0 or left < LEAST_SHARE * weight or right < LEAST_SHARE * weight:
        return -1.0
    return sum_left * sum_left / left + sum_right * sum_right / right - total * total / weight


@kernel
def best_border(stats: Array, weight: float, total: float) -> tuple[float, int, float, float]:
    """Return the largest reduction, the bin below the border, and weight and sum on the left. Shapes: stats f8[W]."""
    gain, found, left, sum_left, best_left, best_sum = -1.0, 0, 0.0, 0.0, 0.0, 0.0
    for b in range(BINS - 1):
        if stats[b] > 0.0:
            left += stats[b]
            sum_left += stats[BINS + b]
            now = reduction(weight, total, left, sum_left)
            if better(now, gain):
                gain, found, best_left, best_sum = now, b, left, sum_left
    return gain, found, best_left, best_sum


@kernel
def best_id(stats: Array, weight: float, total: float) -> tuple[float, int, float, float]:
    """Return the largest reduction, the id, and its weight and sum. Shapes: stats f8[W]."""
    gain, found, best_left, best_sum = -1.0, 0, 0.0, 0.0
    for b in range(BINS):
        now = reduction(weight, total, stats[b], stats[BINS + b])
        if better(now, gain):
            gain, found, best_left, best_sum = now, b, stats[b], stats[BINS + b]
    return gain, found, best_left, best_sum


@kernel
def best_split(leaves: TargetLeaves, s: int, work: TargetWork) -> BestSplit:
    """Return the best split of the leaf in slot s."""
    d, moments = work.row.x.shape[0], leaves.moments[s]
    weight, total, tested, threshold, best, second = moments[WEIGHT], moments[WEIGHT] * moments[MEAN], -1, 0.0, 0.0, 0.0
    left, mean = 0.0, 0.0
    for a in range(leaves.looked.shape[1]):
        j, stats = leaves.looked[s, a], leaves.stats[s, a]
        nominal = work.row.nominal[j] > 0.0
        gain, b, n, sum_left = best_id(stats, weight, total) if nominal else best_border(stats, weight, total)
        if better(gain, best):
            best, second, left, mean = gain, best, n, sum_left / n
            tested = j + d if nominal else j
            threshold = float(b) if nominal else (stats[BASE] + b + 1.0) * stats[WIDTH]
        elif gain > second:
            second = gain
    if not moments[SQUARES] > 0.0:
        return BestSplit(-1, 0.0, 0.0, 0.0, 0.0, 0.0)
    return BestSplit(tested, threshold, best / moments[SQUARES], second / moments[SQUARES], left, mean)
