"""Leaves of classification trees: what they store about their rows, and how they predict a class.

A leaf uses m columns. It has the class counts of its rows, and for each of these columns and each class a Gaussian
(Welford), or the counts of each id if the column is nominal. It predicts by its counts or by naive Bayes, whichever has
been right more often in this leaf (Holmes, Kirkby and Pfahringer, 2005).
"""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel, part, scratch
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.trees.features import VALUES, Row

LEAST_ODDS = -30.0
"""Bound of the logarithm of a class's probability relative to the largest."""
SMALL, LARGE = 1e-50, 1e50
"""A product of variances is replaced by its logarithm before it leaves the range of float64."""
SHRINKAGE = 0.01
"""Variance of a class's first row, relative to that of all rows; with n rows it adds this over n."""
NARROWEST = 1e-200
"""Least variance; that of a column with one value only."""
NOWHERE = 1e300
"""Least and largest value of a column before the first."""
COUNTS, BAYES = 0, 1
"""The two predictors of a leaf."""


class ClassLeaves(NamedTuple):
    """The leaves of T trees, by slot."""

    counts: Array = field("f8[T, L, K]", "weight of the rows of each class that the leaf has learned")
    prior: Array = field("f8[T, L, K]", "weight of each class that its parent expected in it")
    hits: Array = field("f8[T, L, 2]", "weight of the rows that its counts and naive Bayes had right")
    waiting: Array = field("f8[T, L, 1]", "weight since the last time that a split was tried")
    looked: Counts = field("i8[T, L, m]", "columns that it looks at", largest="d - 1")
    stats: Array = field(
        "f8[T, L, m, W]",
        "of each: means of the classes, sums of squared deviations, least and largest values; or counts of each id "
        "and class",
    )


class ClassPrediction(NamedTuple):
    """What each of T trees predicts for the row, and what learning needs of that."""

    p: Array = scratch("f8[T, K]", "probability of each class")
    outputs: Array = scratch("f8[T, 2]", "class by the counts of the leaf, and by naive Bayes")
    leaf: Array = scratch("f8[T, 1]", "the leaf")


class ClassWork(NamedTuple):
    """Working space of one tree at a time."""

    row: Any = part(Row, "the row")
    below: Array = scratch("f8[K]", "weight of each class on the left of a threshold")
    best: Array = scratch("f8[K]", "the same of the best threshold so far")
    order: Array = scratch("f8[d]", "columns to choose from")


def words_of(K: int, nominal: bool) -> int:
    """Return W, the words of a column's statistics in a leaf."""
    return K * max(4, VALUES * nominal)


@fragment
def variance_of(squares: float, weight: float, scale: float) -> float:
    """Return a class's variance; a few rows have at least a share of that of all rows."""
    return max((squares + SHRINKAGE * scale * scale) / weight, NARROWEST)


@fragment
def predict_leaf(leaves: ClassLeaves, s: int, row: Row, prediction: ClassPrediction) -> None:
    """Write what the leaf in slot s predicts, or an empty tree if s < 0."""
    p, K = prediction.p, prediction.p.shape[0]
    prediction.outputs[COUNTS] = prediction.outputs[BAYES] = 0.0
    if s < 0:
        for c in range(K):
            p[c] = 1.0 / K
        return
    seen = bayes(leaves, s, row, p)
    top = largest_of(p)
    prediction.outputs[BAYES] = top
    total, most = 1.0, 0
    for c in range(K):
        n = leaves.counts[s, c] + leaves.prior[s, c]
        total += n
        if n > leaves.counts[s, most] + leaves.prior[s, most]:
            most = c
    prediction.outputs[COUNTS] = most
    if seen and leaves.hits[s, BAYES] >= leaves.hits[s, COUNTS]:
        normalise(p, top)
        return
    if not seen:
        prediction.outputs[BAYES] = most
    for c in range(K):
        p[c] = (leaves.counts[s, c] + leaves.prior[s, c] + 1.0 / K) / total


@fragment
def largest_of(p: Array) -> int:
    """Return the first class with the largest value. Shapes: p f8[K]."""
    top = 0
    for c in range(p.shape[0]):
        if p[c] > p[top]:
            top = c
    return top


@fragment
def normalise(p: Array, top: int) -> None:
    """Turn logarithms into probabilities; `top` has the largest one. Shapes: p f8[K]."""
    total, best = 0.0, p[top]
    for c in range(p.shape[0]):
        p[c] = exp(max(p[c] - best, LEAST_ODDS))
        total += p[c]
    for c in range(p.shape[0]):
        p[c] /= total


@fragment
def bayes(leaves: ClassLeaves, s: int, row: Row, p: Array) -> bool:
    """Write the logarithm of n_c prod_a p(x_a | c) for each class, or return False if the leaf has no rows yet.

    A class that the leaf has not seen has no Gaussians; it is as likely as the least odds allow. Shapes: p f8[K].
    """
    K, m, seen = p.shape[0], leaves.looked.shape[1], False
    for c in range(K):
        n = leaves.counts[s, c]
        if n <= 0.0:
            p[c] = -NOWHERE
            continue
        seen = True
        misfit, product, total = 0.0, 1.0, 0.0
        for a in range(m):
            j, stats = leaves.looked[s, a], leaves.stats[s, a]
            if row.nominal[j] > 0.0:
                total -= 2.0 * log((stats[int(row.x[j]) * K + c] + 1.0 / VALUES) / (n + 1.0))
                continue
            away, variance = row.x[j] - stats[c], variance_of(stats[K + c], n, row.scale[j])
            misfit += away * away / variance
            product *= variance
            if not SMALL < product < LARGE:
                total += log(product)
                product = 1.0
        p[c] = log(n + leaves.prior[s, c]) - 0.5 * (misfit + total + log(product))
    return seen


@fragment
def observe(leaves: ClassLeaves, s: int, row: Row, y: int, weight: float) -> None:
    """Add a row of class y to the leaf in slot s."""
    K = leaves.counts.shape[1]
    leaves.counts[s, y] += weight
    share = weight / leaves.counts[s, y]
    for a in range(leaves.looked.shape[1]):
        j, stats = leaves.looked[s, a], leaves.stats[s, a]
        value = row.x[j]
        if row.nominal[j] > 0.0:
            stats[int(value) * K + y] += weight
            continue
        away = value - stats[y]
        stats[y] += share * away
        stats[K + y] += weight * away * (value - stats[y])
        stats[2 * K + y] = min(stats[2 * K + y], value)
        stats[3 * K + y] = max(stats[3 * K + y], value)


@kernel
def renew(leaves: ClassLeaves, s: int, row: Row) -> None:
    """Empty the leaf in slot s, except what it looks at and its prior."""
    K = leaves.counts.shape[1]
    for c in range(K):
        leaves.counts[s, c] = 0.0
    leaves.hits[s, COUNTS] = leaves.hits[s, BAYES] = leaves.waiting[s, 0] = 0.0
    for a in range(leaves.looked.shape[1]):
        stats = leaves.stats[s, a]
        for w in range(stats.shape[0]):
            stats[w] = 0.0
        if row.nominal[leaves.looked[s, a]] == 0.0:
            for c in range(K):
                stats[2 * K + c], stats[3 * K + c] = NOWHERE, -NOWHERE
