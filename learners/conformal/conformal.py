"""Prediction intervals and sets of a learner, at one level of coverage."""

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.emissions import Emissions
from driftway.learners.conformal.intervals import run_intervals
from driftway.learners.conformal.sets import fill_members, run_sets
from driftway.learners.conformal.thresholds import CACHED, PLACES, ROWS, SIZES, THRESHOLD, Thresholds, level_of
from driftway.learners.contract import Array, Counts
from driftway.learners.engine.array_checks import as_behaved, check_labels
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of, write_defaults
from driftway.learners.learner import REGRESSION, Learner
from driftway.learners.metrics.classification import NO_SLOTS

NONE_WAITS = np.zeros((0, CACHED))


class Conformal:
    """Intervals (regression) or sets of classes that hold the label of a given share of rows, whatever drifts.

    It takes the scores of any learner, and no distribution, margin or probability is assumed. Before the first
    c / (1 - c) labels, intervals have no ends and sets hold every class. A set may be empty: then no class is as clear
    as the best one is on a share c of rows, which happens if the learner is right more often than that.

    Parameters
    ----------
    learner : Learner
        The learner that computes the scores; it is neither kept nor changed.
    coverage : float
        Share of labels to be covered, 0 < coverage <= 0.9999.

    Raises
    ------
    ValueError
        The coverage is out of range.

    Source
    ------
    docs/decisions/0057. Gibbs and Candes, NeurIPS 2021 and JMLR 25, 2024: feedback on coverage, experts with several
    steps. Angelopoulos, Candes and Tibshirani, NeurIPS 2023: the quantile is tracked itself, and errors are summed up.
    Zaffran et al., ICML 2022: experts are averaged by their loss. Differs: the axis is logarithmic, so that steps need
    no scale; experts follow late scores at once, and only their judgement waits for what was emitted.
    """

    def __init__(self, learner: Learner, coverage: float) -> None:
        self.sets = learner.task != REGRESSION
        self.n_classes, self.n_scores = learner.n_classes, learner.n_scores
        self.level = level_of(coverage, signed=self.sets)
        self.state = State(fields_of(Thresholds, SIZES))
        write_defaults(Thresholds, self.state)
        self._memory = as_views(Thresholds, self.state)

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        check_ranges(Thresholds, SIZES, State(self.state.fields, memory))

    def waiting(self, slots: int) -> Array:
        """Allocate what is cached of `slots` rows that wait for their labels, f8[slots, ...]."""
        return np.zeros((slots, CACHED))

    def check_waiting(self, waiting: Array) -> None:
        """Check what is cached of rows that wait, f8[rows, ...], after it was loaded.

        Raises
        ------
        ValueError
            A threshold or a place is no number, or a row was emitted later than all.
        """
        emitted, places = waiting[:, ROWS], waiting[:, PLACES:]
        in_order = (emitted >= 0) & (emitted <= self.state["rows"][0])
        if np.isnan(waiting[:, THRESHOLD]).any() or not np.isfinite(places).all() or not in_order.all():
            raise ValueError("a saved waiting row has a threshold that was never emitted")

    def emit(self, score: Array, y: Array, slot: Counts = NO_SLOTS, waiting: Array = NONE_WAITS) -> Array:
        """Emit the thresholds of a batch's rows, and learn from its labels.

        Parameters
        ----------
        score : f8[n, k]
            The learner's scores; for a label that comes late, those that were emitted for its row.
        y : f8[n]
            Class index or target, NaN if unknown: such a row gets a threshold, and nothing is learned.
        slot : i8[n]
            That of `driftway.learners.engine.update_loop.DelayedRows`, if labels may come late.
        waiting : f8[slots, ...]
            What `waiting` returned; it is read and written.

        Returns
        -------
        f8[n]
            The threshold of each entry's row, as emitted; infinite for lack of labels; NaN for an expired row.

        Raises
        ------
        ValueError
            A label is not a class index.
        """
        if self.sets:
            check_labels(y, self.n_classes)
        out = np.empty(len(y))
        run = run_sets if self.sets else run_intervals
        run(Emissions(as_behaved(score), as_behaved(y), slot, waiting), self.level, self._memory, out)
        return out

    def compile_kernels(self) -> None:
        """Compile or load the kernels; a row without a label only counts as emitted, and that is taken back."""
        threshold = self.emit(np.zeros((1, self.n_scores)), np.full(1, np.nan))
        self._memory.rows[0] -= 1
        if self.sets:
            classes_of(np.zeros((1, self.n_scores)), threshold, self.n_classes)


def ends_of(score: Array, threshold: Array) -> tuple[Array, Array]:
    """Low and high ends of intervals, infinite for those without end. Shapes: score f8[n, 1], threshold f8[n]."""
    with np.errstate(over="ignore"):
        return score[:, 0] - threshold, score[:, 0] + threshold


def classes_of(score: Array, threshold: Array, n_classes: int) -> NDArray[np.bool_]:
    """Return which classes are in each row's set, b1[n, K]. Shapes: score f8[n, k], threshold f8[n]."""
    member = np.empty((len(score), n_classes), np.bool_)
    fill_members(as_behaved(score), as_behaved(threshold), member)
    return member
