"""The online standardiser, as a wrapper of a learner."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Fields, Learner, field, fragment, kernel
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import fields_of
from driftway.learners.preprocessing.wrapper import Wrapper

FLAT = 1e-12
"""A standard deviation up to which a feature counts as constant and becomes 0.

See docs/algorithms/preprocessing.md#standardiser.
"""
CLIP = 10.0
"""Bound of a standardised feature, in standard deviations, so that one extreme value cannot dominate the model."""
ENTERS = 60.0
"""Bound of values added to the statistics; larger than `CLIP` because of rare and of long constant features."""
WILD = 300.0
"""Deviations beyond which a value is wild: taken for a sentinel or a broken sensor, and replaced by 0."""
STEADY = 30
"""Rows after which the statistics are reliable enough to identify wild values and to bound the values added to them."""
APART = 10.0
"""Ratio of the standard deviations of all rows and of recent ones from which on the recent ones replace the others."""
EVERY, SPARSE = 256, 8
"""The first 256 rows enter the recent statistics, later one in eight: they only have to show orders of magnitude."""
FIRST_LOOK, LOOK = 32, 1024
"""The recent statistics are compared, and restarted, at 32 rows, 64, 128 and so on, and at every 1024th."""


class Statistics(NamedTuple):
    """Statistics of the features, in the state under these names prefixed with ``standardize.``."""

    rows: Counts = field("i8[1]", "labelled rows that the statistics hold")
    mean: Array = field("f8[n]", "means of the features, without intercept")
    squares: Array = field("f8[n]", "sums of squared deviations from the mean")
    recent_rows: Counts = field("i8[1]", "rows that the recent statistics hold")
    recent_mean: Array = field("f8[n]", "means of the features in them")
    recent_squares: Array = field("f8[n]", "sums of squared deviations in them")
    recent_wild: Counts = field("i8[n]", "how many of them were wild")
    skipped: Counts = field("i8[1]", "rows of which some feature would have overflowed the statistics")
    replaced: Counts = field("i8[1]", "times that the recent statistics of a feature have replaced the others")


def statistics(d: int) -> Fields:
    """Return the state fields of the statistics of `d` features."""
    return fields_of(Statistics, {"n": d}, "standardize.")


def statistics_in(state: State) -> Statistics:
    """Return the views of the statistics in a state."""
    return Statistics(*(state[f"standardize.{name}"] for name in Statistics._fields))


class OnlineStandardizer(Wrapper):
    """Any learner, with features standardised to mean 0 and variance 1 over the rows seen so far.

    A row is scaled by the statistics of the *labelled rows before it*. Rows without a label are scaled by the same
    statistics and do not change the state.

    Outliers have limited effect: a value enters the statistics clipped to 60 standard deviations from the mean, and
    one beyond 300 is 0 for the learner and does not enter. This requires sane statistics, which an outlier among the
    first 30 rows would prevent, as does a feature that changes its unit. So there are second statistics, of recent rows
    only, which replace those of a feature that are 10 times as large, or by which most recent values are wild.

    Columns that hold ids instead of features (`Learner.unscaled`) are not changed.

    Parameters
    ----------
    inner : Learner
        The wrapped learner. Its state moves into this one's buffer; do not use it on its own afterwards.

    State
    -----
    Those of `Statistics`, and the inner learner's own, as one contiguous buffer.

    Cost
    ----
    O(d) per row and 40 d + 32 bytes, plus the inner learner's.

    Raises
    ------
    ValueError
        The inner learner ignores features.

    Source
    ------
    docs/algorithms/preprocessing.md#standardiser; Welford, Technometrics 1962. Differs: bounded and replaced as
    described above (docs/decisions/0022); a feature's statistics skip a row that would overflow them (beyond about
    1e154).
    """

    by_feature = True

    def __init__(self, inner: Learner) -> None:
        if not inner.uses_features:
            raise ValueError(f"{inner.name} ignores features; there is nothing to standardise")
        self.name, self.tasks, self.unscaled = inner.name, inner.tasks, inner.unscaled
        self.link, self.multiclass_link = inner.link, inner.multiclass_link
        if inner.reads_raw:
            inner.width = 2 * inner.n_features
        super().__init__((inner,), inner.n_features, inner.n_classes, inner.task)

    def own_fields(self) -> Fields:
        return statistics(self.n_features)

    @property
    def sharing(self) -> SharedFields | None:
        return self.inner.sharing

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "standardize": True}

    def clone_empty(self) -> Learner:
        return OnlineStandardizer(self.inner.clone_empty())

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        # The statistics depend only on rows and on which labels are known, not on the inner learner, so they
        # may run ahead of it by a batch. The inner learner's row buffer already has the intercept.
        scaled = self.inner.row_buffer(len(rows))
        standardize(rows, y, scaled, statistics_in(self.state))
        for column in self.unscaled:
            scaled[:, column] = rows[:, column]
        if self.inner.reads_raw:
            scaled[:, self.n_features :] = rows
        self.inner._run(scaled, y, score)  # noqa: SLF001 - a learner calls its inner learner's kernel


@kernel
def standardize(rows: Array, y: Array, scaled: Array, known: Statistics) -> None:
    """Scale each row by the labelled rows before it, then add it to the statistics if it has a label.

    Shapes: rows f8[n, d], y f8[n], scaled f8[n, >= d] written in its first d columns.
    """
    count, mean, squares, recent, recent_mean, recent_squares, recent_wild, skipped, replaced = known
    for t in range(rows.shape[0]):
        x, z = rows[t], scaled[t]
        before = float(count[0]) if count[0] > 0 else math.inf  # no rows yet: every deviation is 0
        most, wild = (ENTERS, WILD) if count[0] >= STEADY else (math.inf, math.inf)
        if math.isnan(y[t]):
            for j in range(x.shape[0]):
                z[j] = feature(in_deviations(x[j] - mean[j], math.sqrt(squares[j] / before)), wild)
            continue
        count[0] += 1
        now, refused = float(count[0]), False
        # One pass without branches, so that it vectorizes.
        for j in range(x.shape[0]):
            m, q = mean[j], squares[j]
            deviation = math.sqrt(q / before)
            off = in_deviations(x[j] - m, deviation)
            z[j] = feature(off, wild)
            value = m if abs(off) > wild else bounded(x[j], m, off, most, deviation)
            m, q, finite = with_value(m, q, value, now)
            mean[j], squares[j] = m, q
            refused |= not finite
        if refused:
            skipped[0] += 1
        seen = count[0]
        if seen < EVERY or seen % SPARSE == 0:
            for j in range(x.shape[0]):
                off = in_deviations(x[j] - mean[j], math.sqrt(squares[j] / now))
                recent_wild[j] += abs(off) > WILD
            count_in(x, recent, recent_mean, recent_squares)
        if looks(seen):
            replaced[0] += replace(known)
            recent[0] = 0
            recent_mean[:] = 0.0
            recent_squares[:] = 0.0
            recent_wild[:] = 0


@fragment
def in_deviations(off: float, deviation: float) -> float:
    """Return a distance from the mean in standard deviations; 0 for a constant feature."""
    return off / deviation if deviation > FLAT else 0.0


@fragment
def feature(off: float, wild: float) -> float:
    """Return the learner's input for a value `off` deviations from the mean: clipped, or 0 if it is wild."""
    return 0.0 if abs(off) > wild else min(CLIP, max(-CLIP, off))


@fragment
def with_value(mean: float, squares: float, value: float, rows: float) -> tuple[float, float, bool]:
    """Update mean and squares with `value`, the last of `rows` rows (Welford); unchanged, and False, on overflow."""
    moved = mean + (value - mean) / rows
    grown = squares + (value - mean) * (value - moved)
    finite = (moved - moved == 0.0) & (grown - grown == 0.0)
    return (moved if finite else mean), (grown if finite else squares), finite


@fragment
def bounded(value: float, mean: float, off: float, most: float, deviation: float) -> float:
    """Clip the value to `most` deviations from the mean."""
    nearest = mean + most * deviation if off > 0.0 else mean - most * deviation
    return nearest if abs(off) > most else value


@fragment
def count_in(x: Array, count: Counts, mean: Array, squares: Array) -> None:
    """Add a row to the recent statistics; values that would overflow them are skipped.

    Shapes: x, mean, squares f8[d], count i8[1].
    """
    before = float(count[0]) if count[0] > 0 else math.inf
    most = CLIP if count[0] >= STEADY else math.inf
    count[0] += 1
    for j in range(x.shape[0]):
        m, q = mean[j], squares[j]
        deviation = math.sqrt(q / before)
        value = bounded(x[j], m, in_deviations(x[j] - m, deviation), most, deviation)
        mean[j], squares[j], _ = with_value(m, q, value, float(count[0]))


@fragment
def replace(known: Statistics) -> int:
    """Replace statistics that are orders of magnitude off by recent ones; return the number of such features.

    Too large: after an outlier among the first rows, or a change of unit. Too small: most recent values are wild. The
    new ones get the weight of all rows, since a count for each feature would slow down every row.
    """
    n, recent, found = known.rows[0], known.recent_rows[0], 0
    for j in range(known.mean.shape[0]):
        lately = known.recent_squares[j] / recent
        if misplaced(n, known.mean[j], known.squares[j], recent, known.recent_mean[j], lately, known.recent_wild[j]):
            known.mean[j], known.squares[j] = known.recent_mean[j], lately * n
            found += 1
    return found


@fragment
def misplaced(n: int, mean: float, squares: float, recent: int, recent_mean: float, lately: float, wild: int) -> bool:
    """Whether recent statistics, with the variance `lately`, are to replace those of all `n` rows; see `replace`."""
    away = (recent_mean - mean) ** 2 if n > LOOK else 0.0
    too_large = squares / n > APART * APART * (lately + away)
    return lately > FLAT * FLAT and (too_large or 2 * wild >= recent)


@fragment
def looks(n: int) -> bool:
    """Whether the recent statistics are compared, and restarted, after row `n`."""
    return n % LOOK == 0 or (FIRST_LOOK <= n < LOOK and n & (n - 1) == 0)
