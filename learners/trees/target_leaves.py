"""Leaves of regression trees: what they store about their rows, and how they predict a target.

A leaf predicts the mean of its targets or a linear model of the row, whichever had the smaller fading squared error
(Ikonomovska, Gama and Dzeroski, 2011). For each of the m columns that it uses, it has a histogram: the weight and the
sum of targets in each bin. Bins are as wide as a power of two; when a value is outside, the width doubles.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel, part, scratch
from driftway.learners.numeric.elementary.words import power_of_two
from driftway.learners.trees.features import LARGEST, VALUES, Row

BINS = VALUES
FINEST = 64.0
"""The first bin is at most this part of the column's standard deviation wide."""
DOUBLINGS = 2100
"""More than these no width needs to reach any value."""
ERRORS_FADE = 0.995
"""Factor of earlier squared errors at each row."""
SLOWEST = 20.0
"""Rows after which a linear model takes steps of constant size."""
LEVEL, LINEAR, VALUE = 0, 1, 2
"""The two predictors of a leaf, and the one that is used."""
BASE, WIDTH = 2 * BINS, 2 * BINS + 1
"""Words behind the weights and sums of a histogram: number of the first bin, and the width of all."""
WEIGHT, MEAN, SQUARES = 0, 1, 2


class TargetLeaves(NamedTuple):
    """The leaves of T trees, by slot."""

    origin: Array = field("f8[T, L, 1]", "what is subtracted from targets in the sums below")
    moments: Array = field("f8[T, L, 3]", "weight, mean and sum of squared deviations of the targets")
    level: Array = field("f8[T, L, 2]", "weight and mean of the targets, old ones discounted")
    linear: Array = field("f8[T, L, d]", "weights of the linear model on standardised columns")
    bias: Array = field("f8[T, L, 2]", "its constant, and its rows up to SLOWEST")
    errors: Array = field("f8[T, L, 2]", "fading squared errors of the mean and of the linear model")
    waiting: Array = field("f8[T, L, 1]", "weight since the last time that a split was tried")
    looked: Counts = field("i8[T, L, m]", "columns that it looks at", largest="d - 1")
    stats: Array = field("f8[T, L, m, W]", "of each: weight and sum of targets in each bin, the first bin, the width")


class TargetPrediction(NamedTuple):
    """What each of T trees predicts for the row, and what learning needs of that."""

    outputs: Array = scratch("f8[T, 3]", "the mean, the linear model, and the one of them that counts")
    leaf: Array = scratch("f8[T, 1]", "the leaf")


class TargetWork(NamedTuple):
    """Working space of one tree at a time."""

    row: Any = part(Row, "the row")
    spare: Array = scratch("f8[B2]", "a histogram while its bins are merged")
    order: Array = scratch("f8[d]", "columns to choose from")


WORDS = 2 * BINS + 2
"""W, the words of a histogram."""


@fragment
def predict_leaf(leaves: TargetLeaves, s: int, row: Row, prediction: TargetPrediction) -> None:
    """Write what the leaf in slot s predicts, or 0 if s < 0."""
    outputs = prediction.outputs
    if s < 0:
        outputs[LEVEL] = outputs[LINEAR] = outputs[VALUE] = 0.0
        return
    linear = leaves.bias[s, 0]
    for j in range(row.z.shape[0]):
        linear += leaves.linear[s, j] * row.z[j]
    outputs[LEVEL], outputs[LINEAR] = leaves.level[s, 1], linear
    outputs[VALUE] = linear if leaves.errors[s, LINEAR] < leaves.errors[s, LEVEL] else leaves.level[s, 1]


@fragment
def observe(leaves: TargetLeaves, s: int, y: float, weight: float, fade: float, work: TargetWork) -> None:
    """Add a row with target y to the mean, the moments and the histograms of the leaf in slot s."""
    moments, level, row = leaves.moments[s], leaves.level[s], work.row
    away = y - leaves.origin[s, 0]
    moments[WEIGHT] += weight
    apart = away - moments[MEAN]
    moments[MEAN] += apart * weight / moments[WEIGHT]
    moments[SQUARES] += weight * apart * (away - moments[MEAN])
    level[0] = level[0] * max(1.0 - (1.0 - fade) * weight, 0.0) + weight
    level[1] += (y - level[1]) * weight / level[0]
    for a in range(leaves.looked.shape[1]):
        j, stats = leaves.looked[s, a], leaves.stats[s, a]
        b = int(row.x[j]) if row.nominal[j] > 0.0 else bin_of(stats, row.x[j], row.scale[j], work.spare)
        if 0 <= b < BINS:
            stats[b] += weight
            stats[BINS + b] += weight * away


@fragment
def descend(leaves: TargetLeaves, s: int, y: float, weight: float, row: Row, prediction: TargetPrediction) -> None:
    """Count the errors of the two predictors, and move the linear model towards the target.

    The step is that of implicit gradient descent, which never overshoots; its size falls to 1 / SLOWEST.
    """
    errors, bias = leaves.errors[s], leaves.bias[s]
    for way in range(2):
        off = y - prediction.outputs[way]
        errors[way] = ERRORS_FADE * errors[way] + weight * off * off
    bias[1] = min(bias[1] + weight, SLOWEST)
    squared = 1.0
    for j in range(row.z.shape[0]):
        squared += row.z[j] * row.z[j]
    step = weight * (y - prediction.outputs[LINEAR]) / (bias[1] + weight * squared)
    bias[0] += step
    for j in range(row.z.shape[0]):
        leaves.linear[s, j] += step * row.z[j]


@fragment
def first_width(scale: float, value: float) -> float:
    """Return the largest power of two that is at most scale / FINEST, or for a constant column |value| / 1024."""
    wanted = scale / FINEST if scale > 0.0 else max(abs(value), 1e-100) / 1024.0
    return power_of_two(exponent_of(wanted))


@kernel
def exponent_of(value: float) -> int:
    """Return k with 2^k <= value < 2^(k + 1), for 1e-200 < value < 1e200."""
    k, power = 0, 1.0
    while power * 2.0 <= value:
        power *= 2.0
        k += 1
    while power > value and k > -700:
        power *= 0.5
        k -= 1
    return k


@kernel
def bin_of(stats: Array, value: float, scale: float, spare: Array) -> int:
    """Return the bin of a value, after doubling the width until it has one. Shapes: stats f8[W], spare f8[2 B]."""
    if stats[WIDTH] <= 0.0:
        stats[WIDTH] = first_width(scale, value)
        stats[BASE] = math.floor(value / stats[WIDTH]) - BINS // 2
    for _ in range(DOUBLINGS):
        b = math.floor(value / stats[WIDTH]) - stats[BASE]
        if 0.0 <= b < BINS:
            return int(b)
        double_width(stats, spare)
    return -1


@kernel
def double_width(stats: Array, spare: Array) -> None:
    """Merge pairs of bins; the new ones are in the middle half. Shapes: stats f8[W], spare f8[2 B]."""
    for b in range(2 * BINS):
        spare[b] = stats[b]
        stats[b] = 0.0
    first = math.floor(stats[BASE] / 2.0) - BINS // 4
    odd = int(stats[BASE] - 2.0 * math.floor(stats[BASE] / 2.0) > 0.5)
    for b in range(BINS):
        place = BINS // 4 + (b + odd) // 2
        stats[place] += spare[b]
        stats[BINS + place] += spare[BINS + b]
    stats[BASE] = first
    stats[WIDTH] = min(stats[WIDTH] * 2.0, LARGEST * LARGEST)


@kernel
def renew(leaves: TargetLeaves, s: int, origin: float) -> None:
    """Empty the moments and the histograms of the leaf in slot s."""
    leaves.origin[s, 0], leaves.waiting[s, 0] = origin, 0.0
    for k in range(3):
        leaves.moments[s, k] = 0.0
    for a in range(leaves.looked.shape[1]):
        for w in range(leaves.stats.shape[2]):
            leaves.stats[s, a, w] = 0.0
