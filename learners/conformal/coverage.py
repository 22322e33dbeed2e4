"""How many labels the emitted intervals or sets covered, and how wide or large these were."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.sets import behind, size_of, two_best
from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.engine.array_checks import as_behaved, check_labels
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of, write_defaults
from driftway.learners.learner import REGRESSION, Learner
from driftway.learners.metrics.classification import WORD_BITS, ratio, window_rows

NOT_YET = -1


class CoverageState(NamedTuple):
    """State of the metrics."""

    labels: Counts = field("i8[1]", "labels so far")
    covered: Counts = field("i8[2]", "of them covered: in total, and in the window")
    extremes: Counts = field("i8[2]", "fewest and most labels covered in any full window so far", NOT_YET)
    counted: Counts = field("i8[2]", "intervals with ends, and 0; empty sets, and sets of one class")
    sum_of_sizes: Array = field("f8[1]", "sum of the widths of these intervals, or of the sizes of all sets")
    sizes: Array = field("f8[window]", "widths or sizes in the window, a ring; infinite for an interval without end")
    ring: NDArray[np.uint64] = field("u8[words]", "one bit per label of the window: whether it was covered")


class CoverageMetrics:
    """Realised coverage: total, of the window, and of the window where it was furthest from the level; and sizes.

    Parameters
    ----------
    learner : Learner
        The learner that computes the scores; it is not kept.
    coverage : float
        The level.
    window : int
        Labels of the rolling window, >= 1. Default 1000.

    Raises
    ------
    ValueError
        The window is empty.
    """

    def __init__(self, learner: Learner, coverage: float, window: int) -> None:
        if window < 1:
            raise ValueError(f"window must be >= 1, got {window}")
        self.coverage, self.window, self.n_classes = coverage, window, learner.n_classes
        self.sets = learner.task != REGRESSION
        self._sizes = {"window": window, "words": -(-window // WORD_BITS)}
        self.state = State(fields_of(CoverageState, self._sizes))
        write_defaults(CoverageState, self.state)
        self._memory = as_views(CoverageState, self.state)

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        check_ranges(CoverageState, self._sizes, State(self.state.fields, memory))

    def continue_from(self, before: "CoverageMetrics") -> bool:
        """As `driftway.learners.metrics.classification.ClassificationMetrics.continue_from`.

        The extremes of windows of another length begin anew.
        """
        labels = int(before.state["labels"][0])
        if min(labels, self.window) > before.window:
            return False
        for name in ("labels", "covered", "counted", "sum_of_sizes"):
            self.state[name][:] = before.state[name]
        rows = window_rows(labels, self.window)
        old, new = rows % before.window, rows % self.window
        right = (before.state["ring"][old // WORD_BITS] >> (old % WORD_BITS).astype(np.uint64)) & np.uint64(1)
        self.state["ring"][:] = 0
        np.bitwise_or.at(self.state["ring"], new // WORD_BITS, right << (new % WORD_BITS).astype(np.uint64))
        self.state["sizes"][:] = 0.0
        self.state["sizes"][new] = before.state["sizes"][old]
        self.state["covered"][1] = right.sum()
        self.state["extremes"][:] = before.state["extremes"] if self.window == before.window else NOT_YET
        return True

    def counter(self, score: Array, threshold: Array, y: Array) -> Callable[[int, int], None]:
        """Prepare a batch and return ``count(start, end)``, which adds the labels in that range of it.

        Parameters
        ----------
        score : f8[n, k]
            The learner's scores as emitted.
        threshold : f8[n]
            What `driftway.learners.conformal.conformal.Conformal.emit` returned for them.
        y : f8[n]
            Class index or target; NaN if unknown: such a row is skipped.

        Raises
        ------
        ValueError
            A label is not a class index.
        """
        if self.sets:
            check_labels(y, self.n_classes)
        scores, thresholds, labels = as_behaved(score), as_behaved(threshold), as_behaved(y)
        add = add_sets if self.sets else add_intervals

        def count(start: int, end: int) -> None:
            add(scores[start:end], thresholds[start:end], labels[start:end], self._memory)

        return count

    def observe(self, score: Array, threshold: Array, y: Array) -> None:
        """Add a batch, see `counter`."""
        self.counter(score, threshold, y)(0, len(y))

    def point(self) -> dict[str, Any]:
        """Return the current values as plain numbers; None for those that are not defined yet, or have overflowed."""
        memory, window = self._memory, self.window
        labels, (total, inside) = int(memory.labels[0]), memory.covered.tolist()
        recent, (fewest, most) = memory.sizes[: min(labels, window)], memory.extremes.tolist()
        size, (first, second) = float(memory.sum_of_sizes[0]), memory.counted.tolist()
        furthest = max((fewest / window, most / window), key=lambda share: abs(share - self.coverage))
        values = {
            "coverage": ratio(total, labels),
            "window_coverage": ratio(inside, len(recent)),
            "worst_window_coverage": None if fewest == NOT_YET else furthest,
        }
        with np.errstate(over="ignore"):
            ended = recent[np.isfinite(recent)]
            in_window = ratio(float(ended.sum()), len(ended))
        if self.sets:
            sizes = {"set_size": ratio(size, labels), "window_set_size": in_window}
            sizes |= {"empty_sets": ratio(first, labels), "sets_of_one": ratio(second, labels)}
        else:
            sizes = {"width": ratio(size, first), "window_width": in_window, "endless": labels - first}
        return {**values, **{name: v if v is not None and math.isfinite(v) else None for name, v in sizes.items()}}


@fragment
def count_label(covered: bool, size: float, memory: CoverageState) -> None:
    """Count a label, and the width of its row's interval or the size of its set."""
    window = memory.sizes.shape[0]
    hit, slot = 1 if covered else 0, memory.labels[0] % window
    word, bit = slot // WORD_BITS, np.uint64(slot % WORD_BITS)
    one = np.uint64(1)
    leaving = np.int64((memory.ring[word] >> bit) & one)
    memory.ring[word] = (memory.ring[word] & ~(one << bit)) | (np.uint64(hit) << bit)
    memory.sizes[slot] = size
    memory.labels[0] += 1
    memory.covered[0] += hit
    memory.covered[1] += hit - leaving
    if memory.labels[0] >= window:
        inside, extremes = memory.covered[1], memory.extremes
        extremes[0] = inside if extremes[0] == NOT_YET else min(extremes[0], inside)
        extremes[1] = max(extremes[1], inside)


@kernel
def add_intervals(score: Array, threshold: Array, y: Array, memory: CoverageState) -> None:
    """Count the labelled rows' intervals. Shapes: score f8[n, 1], threshold, y f8[n]."""
    for t in range(y.shape[0]):
        if not math.isnan(y[t]):
            low, high = score[t, 0] - threshold[t], score[t, 0] + threshold[t]
            width = 2.0 * threshold[t]
            count_label(low <= y[t] <= high, width, memory)
            if math.isfinite(width):
                memory.counted[0] += 1
                memory.sum_of_sizes[0] += width


@kernel
def add_sets(score: Array, threshold: Array, y: Array, memory: CoverageState) -> None:
    """Count the labelled rows' sets. Shapes: score f8[n, k], threshold, y f8[n]."""
    for t in range(y.shape[0]):
        if not math.isnan(y[t]):
            best, second = two_best(score[t])
            size = size_of(score[t], threshold[t], best, second)
            covered = behind(score[t], int(y[t]), best, second) <= threshold[t]
            count_label(covered, float(size), memory)
            memory.counted[0] += 1 if size == 0 else 0
            memory.counted[1] += 1 if size == 1 else 0
            memory.sum_of_sizes[0] += size
