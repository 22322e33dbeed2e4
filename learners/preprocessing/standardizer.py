"""The online standardiser, as a learner around a learner."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Fields, Learner, field, fragment, kernel_without_refcounts
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import fields_of
from driftway.learners.preprocessing.wrapper import Wrapper

FLAT = 1e-12
"""A standard deviation up to which a feature counts as constant and becomes 0.

See docs/algorithms/preprocessing.md#standardiser.
"""
CLIP = 10.0
"""Bound of a standardised feature, in standard deviations: one wild value must not own the model."""
ENTERS = 60.0
"""Bound of what enters the statistics: rare features, and those that were constant for long, pass `CLIP` by right."""
WILD = 300.0
"""Deviations from which a value is no information any more, and becomes 0: a sentinel, a broken sensor."""
STEADY = 30
"""Rows after which statistics are trusted to tell what is wild, and bound what enters them."""
APART = 10.0
"""Factor between the standard deviations of all rows and of recent ones from which the recent ones replace all."""
EVERY, SPARSE = 256, 8
"""So many first rows enter the recent statistics, later one in eight: they are looked at for orders of magnitude."""
FIRST_LOOK, LOOK = 32, 1024
"""The recent statistics are compared, and begin anew, at 32 rows, 64, 128 and so on, and at every 1024th."""


class Statistics(NamedTuple):
    """What is known of the features, and stands in the state under these names behind ``standardize.``."""

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
    """State of the statistics of `d` features."""
    return fields_of(Statistics, {"n": d}, "standardize.")


def statistics_in(state: State) -> Statistics:
    """Their views in a state."""
    return Statistics(*(state[f"standardize.{name}"] for name in Statistics._fields))


class OnlineStandardizer(Wrapper):
    """Any learner, fed with features of mean 0 and variance 1 by the rows seen so far.

    A row is scaled by the statistics of the *labelled rows before it*. Rows without a label leave no trace:
    they change no byte of the state, statistics included, and are scaled by what the labelled rows left.

    Wild rows pass: a value enters the statistics no further than 60 standard deviations from the mean, and one
    beyond 300 is 0 for the learner and does not enter. That asks for statistics that are sane, which a wild row
    among the first 30 would prevent, as does a feature that changes its unit. So there are second ones, of recent
    rows only, that replace the others of a feature if these are 10 times as large, or call most values wild.

    Columns that are no features but ids (`Learner.unscaled`) pass as they stand.

    Parameters
    ----------
    inner : Learner
        The learner behind. Its state moves into this one's buffer; do not use it on its own afterwards.

    State
    -----
    Those of `Statistics`, and the inner learner's own, as one contiguous buffer.

    Cost
    ----
    O(d) per row and 40 d + 32 bytes, beside the inner learner's.

    Raises
    ------
    ValueError
        The inner learner ignores features.

    Source
    ------
    docs/algorithms/preprocessing.md#standardiser; Welford, Technometrics 1962. Differs: bounded and replaced as said
    above (docs/decisions/0022); a feature whose statistics would overflow (beyond about 1e154) keeps them as they were,
    for that row.
    """

    def __init__(self, inner: Learner) -> None:
        if not inner.uses_features:
            raise ValueError(f"{inner.name} ignores features; there is nothing to standardise")
        self.name, self.tasks, self.unscaled = inner.name, inner.tasks, inner.unscaled
        self.link, self.multiclass_link = inner.link, inner.multiclass_link
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
        # The statistics depend on rows and on which labels are known, never on the inner learner, so they
        # may run ahead of it by a batch. The inner learner's scratch has the intercept in place already.
        scaled = self.inner.row_buffer(len(rows))
        standardize(rows, y, scaled, statistics_in(self.state))
        for column in self.unscaled:
            scaled[:, column] = rows[:, column]
        self.inner._run(scaled, y, score)  # noqa: SLF001 - a learner calls its inner learner's kernel


@kernel_without_refcounts
def standardize(rows: Array, y: Array, scaled: Array, known: Statistics) -> None:
    """Scale each row by the labelled rows before it, then count it in if it has a label.

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
        # One pass without branches, for several features at a time.
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
        if seen % LOOK == 0 or (FIRST_LOOK <= seen < LOOK and seen & (seen - 1) == 0):
            replaced[0] += replace(known)
            recent[0] = 0
            recent_mean[:] = 0.0
            recent_squares[:] = 0.0
            recent_wild[:] = 0


@fragment
def in_deviations(off: float, deviation: float) -> float:
    """A distance from the mean in standard deviations; 0 for a constant feature."""
    return off / deviation if deviation > FLAT else 0.0


@fragment
def feature(off: float, wild: float) -> float:
    """What the learner is given for a value so many deviations off: within bounds, 0 where it is wild."""
    return 0.0 if abs(off) > wild else min(CLIP, max(-CLIP, off))


@fragment
def with_value(mean: float, squares: float, value: float, rows: float) -> tuple[float, float, bool]:
    """Mean and squares of so many rows, the last being `value` (Welford); unchanged, and False, where they overflow."""
    moved = mean + (value - mean) / rows
    grown = squares + (value - mean) * (value - moved)
    finite = (moved - moved == 0.0) & (grown - grown == 0.0)
    return (moved if finite else mean), (grown if finite else squares), finite


@fragment
def bounded(value: float, mean: float, off: float, most: float, deviation: float) -> float:
    """The value, or what lies `most` deviations from the mean if it is further off."""
    nearest = mean + most * deviation if off > 0.0 else mean - most * deviation
    return nearest if abs(off) > most else value


@fragment
def count_in(x: Array, count: Counts, mean: Array, squares: Array) -> None:
    """Count a row into the recent statistics; what overflows them is left out.

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
    """Let recent statistics replace those that are orders of magnitude off; of how many features.

    Too large: a wild row among the first, or another unit. Too small: most recent values are wild. They take the
    place with the weight of all rows, for a count of each feature would cost every row more.
    """
    n, recent, found = known.rows[0], known.recent_rows[0], 0
    for j in range(known.mean.shape[0]):
        lately = known.recent_squares[j] / recent
        away = (known.recent_mean[j] - known.mean[j]) ** 2 if n > LOOK else 0.0
        too_large = known.squares[j] / n > APART * APART * (lately + away)
        if lately > FLAT * FLAT and (too_large or 2 * known.recent_wild[j] >= recent):
            known.mean[j], known.squares[j] = known.recent_mean[j], lately * n
            found += 1
    return found
