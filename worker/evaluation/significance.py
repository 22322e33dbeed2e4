"""Significance tests for differences between learners, as pure functions of tables of figures.

Paired t tests on repeated runs, as in the papers' tables (docs/algorithms/metrics.md#metrics), and over many data sets
the Friedman test with Nemenyi's critical difference (Demsar, Statistical comparisons of classifiers over multiple data
sets, JMLR 7, 2006). The tails of the distributions are scipy's regularised incomplete gamma and beta functions.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftway.worker.errors import Failure

Array = NDArray[np.float64]

LEVEL = 0.05
"""Significance level: 0.05 is 95 %."""
NEMENYI = {
    0.05: (
        *(1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
        *(3.219, 3.268, 3.313, 3.354, 3.391, 3.426, 3.458, 3.489, 3.517, 3.544),
    ),
    0.10: (
        *(1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
        *(2.978, 3.030, 3.077, 3.120, 3.159, 3.196, 3.230, 3.261, 3.291, 3.319),
    ),
}
"""Significance level -> q for 2, 3, .. 20 learners: the studentized range with infinitely many degrees of freedom,
divided by the square root of 2. The first line of each level is Demsar's table 5 (a), the second continues it."""

WIN, TIE, LOSS = 1, 0, -1
NEEDS_SCIPY = "tests of significance need scipy: pip install 'driftway[statistics]'"


class Paired(NamedTuple):
    """A paired t test: the mean difference, t, its two-sided p, and `WIN`, `TIE` or `LOSS`."""

    difference: float
    t: float
    p: float
    verdict: int


class Friedman(NamedTuple):
    """A Friedman test over data sets.

    Shapes: ranks f8[k], the mean rank of each learner, 1 the best. `chi_square` has k - 1 degrees of freedom; `F` is
    Iman and Davenport's less conservative statistic with k - 1 and (k - 1)(N - 1).
    """

    ranks: Array
    chi_square: float
    p: float
    F: float
    p_F: float


def paired_t(ours: ArrayLike, theirs: ArrayLike) -> Paired:
    """Test whether one learner's figures are larger than another's, run by run; two-sided, at LEVEL.

    Parameters
    ----------
    ours, theirs : f8[n]
        Figures of the same n >= 2 runs; larger is better.

    Raises
    ------
    ValueError
        The runs are not paired, or fewer than two.
    """
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    if np.shape(ours) != np.shape(theirs) or difference.ndim != 1 or len(difference) < 2:
        raise ValueError(f"a paired test needs two or more pairs, got {np.shape(ours)} and {np.shape(theirs)}")
    n, mean = len(difference), float(difference.mean())
    error = float(difference.std(ddof=1)) / math.sqrt(n)
    limit = math.copysign(math.inf, mean) if mean else 0.0
    t = mean / error if error else limit
    p = student_tails(t, n - 1)
    return Paired(mean, t, p, (WIN if mean > 0 else LOSS) if p < LEVEL else TIE)


def win_tie_loss(verdicts: Sequence[int]) -> tuple[int, int, int]:
    """Count the wins, ties and losses among verdicts."""
    return verdicts.count(WIN), verdicts.count(TIE), verdicts.count(LOSS)


def robustness(figures: ArrayLike) -> Array:
    """Each learner's accuracy over the lowest of its data set; NaN if that is 0. docs/algorithms/metrics.md#metrics.

    Shapes: figures f8[N, k], one row per data set; the result has the same shape.
    """
    table = np.asarray(figures, np.float64)
    least = table.min(axis=1, keepdims=True)
    shares = np.full(table.shape, np.nan)
    np.divide(table, least, out=shares, where=least != 0.0)
    return shares


def ranks(figures: ArrayLike, larger_is_better: bool = True) -> Array:
    """Rank of each learner on each data set, 1 the best; equal figures get the mean of their ranks.

    Shapes: figures f8[N, k], one row per data set; the result has the same shape.
    """
    table = np.asarray(figures, np.float64)
    if larger_is_better:
        table = -table
    before = (table[:, None, :] < table[:, :, None]).sum(axis=2)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    found: Array = before + 0.5 * (equal + 1.0)
    return found


def friedman(figures: ArrayLike, larger_is_better: bool = True) -> Friedman:
    """Test whether k learners differ over N data sets, by their ranks only (Demsar 2006, section 3.2.2).

    Parameters
    ----------
    figures : f8[N, k]
        One row per data set, finite; N, k >= 2.
    larger_is_better : bool
        False for errors.

    Raises
    ------
    ValueError
        Fewer than two learners or data sets, or a figure is missing.
    """
    table = np.asarray(figures, np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ValueError(f"Friedman's test needs two or more data sets and learners without gaps, got {table.shape}")
    n, k = table.shape
    mean = ranks(table, larger_is_better).mean(axis=0)
    chi_square = max(0.0, 12.0 * n / (k * (k + 1)) * float((mean**2).sum() - k * (k + 1) ** 2 / 4.0))
    rest = n * (k - 1) - chi_square
    F = (n - 1) * chi_square / rest if rest > 1e-9 * n * k else math.inf
    return Friedman(mean, chi_square, chi_square_tail(chi_square, k - 1), F, f_tail(F, k - 1, (k - 1) * (n - 1)))


def critical_difference(k: int, n: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference: the least significant difference of two of k mean ranks over n data sets.

    Raises
    ------
    ValueError
        No q is tabulated for that many learners or that level.
    """
    if level not in NEMENYI or not 2 <= k <= len(NEMENYI[level]) + 1:
        raise ValueError(f"no q for {k} learners at level {level:g}: 2 to 20 learners, levels 0.05 and 0.1")
    return NEMENYI[level][k - 2] * math.sqrt(k * (k + 1) / (6.0 * n))


def alike(mean_ranks: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """Maximal groups of learners, the best first, whose mean ranks differ by less than `difference`.

    Shapes: mean_ranks f8[k]. Groups are indices in order of rank; a learner that differs from all others is in none.
    """
    found = np.asarray(mean_ranks, np.float64)
    order = np.argsort(found, kind="stable")
    groups: list[tuple[int, ...]] = []
    reached = 0
    for first in range(len(order)):
        end = int(np.count_nonzero(found[order] - found[order[first]] < difference))
        if end > max(reached, first + 1):
            groups.append(tuple(int(i) for i in order[first:end]))
            reached = end
    return groups


def chi_square_tail(x: float, df: float) -> float:
    """Probability that chi-square with `df` > 0 degrees of freedom exceeds x >= 0."""
    return float(special().gammaincc(df / 2.0, x / 2.0))


def student_tails(t: float, df: float) -> float:
    """Probability that Student's t with `df` > 0 degrees of freedom lies farther from 0 than t, on both sides."""
    return float(special().betainc(df / 2.0, 0.5, df / (df + t * t)))


def f_tail(x: float, df1: float, df2: float) -> float:
    """Probability that F with `df1` and `df2` > 0 degrees of freedom exceeds x >= 0."""
    return float(special().betainc(df2 / 2.0, df1 / 2.0, df2 / (df2 + df1 * x)))


def can_test() -> bool:
    """Whether scipy, which computes the tails, is installed."""
    return importlib.util.find_spec("scipy") is not None


def special() -> Any:
    """Load scipy's special functions, when something is tested or before a long run.

    Raises
    ------
    Failure
        Scipy is not installed.
    """
    if not can_test():
        raise Failure(NEEDS_SCIPY)
    from scipy import special as functions

    return functions
