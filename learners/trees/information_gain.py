"""The split of a leaf with the largest information gain, on thresholds and ids.

Numeric columns: ten thresholds between the lowest and the highest value that the leaf has seen, within three deviations
of their mean, with the classes' shares on each side by their Gaussians. Nominal ones: each id against all others.
"""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, fragment, kernel
from driftway.learners.numeric.elementary.error_function import erfc
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.trees.class_leaves import ClassLeaves, ClassWork
from driftway.learners.trees.features import VALUES

THRESHOLDS = 10
LEAST_SHARE = 0.01
"""Least share of a leaf's rows on each side of a split."""
SQRT_HALF = 0.7071067811865476
LN_2 = 0.6931471805599453
CLEAR = 1e-9
"""Relative margin by which one gain must exceed another to count as larger, so that rounding does not decide."""
DEVIATIONS = 3.0


class BestSplit(NamedTuple):
    """The best split of a leaf, and what the second best column would give."""

    tested: int
    """Column, or d + column for an id; -1 if there is none."""
    threshold: float
    gain: float
    """Gain of the best column, in bits."""
    second: float
    """Gain of the second best column; at least 0, since not splitting is always possible."""


@fragment
def better(gain: float, than: float) -> bool:
    """Whether a gain is clearly larger than another one."""
    return gain > than + CLEAR * abs(than)


@fragment
def plogp(n: float) -> float:
    """Return n ln n, 0 for n = 0."""
    return n * log(n) if n > 0.0 else 0.0


@fragment
def share_below(threshold: float, stats: Array, K: int, c: int, n: float) -> float:
    """Share of the n rows of class c that is below a threshold: of a Gaussian, within the values seen of the class.

    Shapes: stats f8[W].
    """
    if threshold <= stats[2 * K + c]:
        return 0.0
    if threshold > stats[3 * K + c]:
        return 1.0
    deviation = math.sqrt(stats[K + c] / n)
    if deviation <= 0.0:
        return 1.0 if stats[c] < threshold else 0.0
    return 0.5 * erfc((stats[c] - threshold) / deviation * SQRT_HALF)


@kernel
def gain_of(counts: Array, below: Array) -> float:
    """Return the information gain, in nats times rows, of a split; -1 if a side is too small.

    Shapes: counts f8[K], below f8[K] the weight of each class on the left.
    """
    left, right, inside = 0.0, 0.0, 0.0
    for c in range(counts.shape[0]):
        above = counts[c] - below[c]
        left += below[c]
        right += above
        inside += plogp(below[c]) + plogp(above) - plogp(counts[c])
    total = left + right
    if left < LEAST_SHARE * total or right < LEAST_SHARE * total:
        return -1.0
    return plogp(total) - plogp(left) - plogp(right) + inside


@kernel
def split_below(leaves: ClassLeaves, s: int, a: int, threshold: float, below: Array) -> None:
    """Write the weight of each class that would go left of a threshold of looked-at column a. Shapes: below f8[K]."""
    K, stats = below.shape[0], leaves.stats[s, a]
    for c in range(K):
        n = leaves.counts[s, c]
        below[c] = n * share_below(threshold, stats, K, c, n) if n > 0.0 else 0.0


@kernel
def range_of(leaves: ClassLeaves, s: int, a: int) -> tuple[float, float]:
    """Return between which values thresholds of column a are tried."""
    K, stats = leaves.counts.shape[1], leaves.stats[s, a]
    total, mean, squares, least, largest = 0.0, 0.0, 0.0, stats[2 * K], stats[3 * K]
    for c in range(K):  # Chan, Golub and LeVeque: the moments of all classes together
        n = leaves.counts[s, c]
        if n > 0.0:
            total += n
            away = stats[c] - mean
            mean += away * n / total
            squares += stats[K + c] + away * (stats[c] - mean) * n
        least, largest = min(least, stats[2 * K + c]), max(largest, stats[3 * K + c])
    reach = DEVIATIONS * math.sqrt(squares / total)
    return max(least, mean - reach), min(largest, mean + reach)


@kernel
def best_threshold(leaves: ClassLeaves, s: int, a: int, work: ClassWork) -> tuple[float, float]:
    """Return the largest gain of numeric column a and its threshold."""
    low, high = range_of(leaves, s, a)
    gain, found = -1.0, low
    if low < high:
        for b in range(1, THRESHOLDS + 1):
            threshold = low + (high - low) * b / (THRESHOLDS + 1.0)
            split_below(leaves, s, a, threshold, work.below)
            now = gain_of(leaves.counts[s], work.below)
            if better(now, gain):
                gain, found = now, threshold
    return gain, found


@kernel
def best_id(leaves: ClassLeaves, s: int, a: int, work: ClassWork) -> tuple[float, float]:
    """Return the largest gain of nominal column a, and the id against which all others are split."""
    gain, found = -1.0, 0.0
    for v in range(VALUES):
        ids_equal(leaves, s, a, v, work.below)
        now = gain_of(leaves.counts[s], work.below)
        if better(now, gain):
            gain, found = now, float(v)
    return gain, found


@kernel
def ids_equal(leaves: ClassLeaves, s: int, a: int, v: int, below: Array) -> None:
    """Write the weight of each class with id v in looked-at column a. Shapes: below f8[K]."""
    K = below.shape[0]
    for c in range(K):
        below[c] = leaves.stats[s, a, v * K + c]


@kernel
def best_split(leaves: ClassLeaves, s: int, work: ClassWork) -> BestSplit:
    """Return the best split of the leaf in slot s; `work.best` gets the weight of each class on its left."""
    m, d, nominal = leaves.looked.shape[1], work.row.x.shape[0], work.row.nominal
    total = 0.0
    for c in range(work.below.shape[0]):
        total += leaves.counts[s, c]
    best, second, tested, threshold = CLEAR * total, 0.0, -1, 0.0
    for a in range(m):
        j = leaves.looked[s, a]
        gain, value = best_id(leaves, s, a, work) if nominal[j] > 0.0 else best_threshold(leaves, s, a, work)
        if better(gain, best):
            best, second, threshold = gain, best, value
            tested = j + d if nominal[j] > 0.0 else j
            if nominal[j] > 0.0:
                ids_equal(leaves, s, a, int(value), work.below)
            else:
                split_below(leaves, s, a, value, work.below)
            for c in range(work.below.shape[0]):
                work.best[c] = work.below[c]
        elif gain > second:
            second = gain
    return BestSplit(tested, threshold, best / (total * LN_2), second / (total * LN_2))


@kernel
def classes_in(counts: Array) -> int:
    """Return how many classes a leaf has seen. Shapes: counts f8[K]."""
    found = 0
    for c in range(counts.shape[0]):
        found += counts[c] > 0.0
    return found
