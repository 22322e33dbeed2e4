"""Rolling accuracy, and its advantage over the baselines (docs/algorithms/metrics.md#metrics)."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.engine.array_checks import as_behaved, check_labels
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of
from driftway.learners.metrics.prequential import predicted_class

WORD_BITS = 64


class ClassificationMetricsState(NamedTuple):
    """State of the metrics."""

    labels: Counts = field("i8[1]", "labelled rows so far")
    hits: Counts = field("i8[4]", "of them right: the learner, no-change, majority, the learner inside the window")
    first: Counts = field("i8[2]", "whether the learner and no-change had the very first row right")
    actual: Counts = field("i8[K]", "rows per class")
    predicted: Counts = field("i8[K]", "predictions per class")
    last: Counts = field("i8[1]", "the last label")
    fading: Array = field("f8[2]", "fading sums of hits and of rows")
    ring: NDArray[np.uint64] = field("u8[words]", "one bit per row of the window: right or wrong")


class Guesses(NamedTuple):
    """The baselines' predictions for rows that wait for their labels."""

    of: Array
    """f8[slots, 2]: the classes of no-change and majority; in regression the running mean, NaN if there is none yet."""
    seen: Array
    """f8[n, 2]: the same for a batch's rows with delayed labels, since the batch may reuse their slots."""
    leads: bool = True
    """Whether these metrics write both arrays. Metrics of further learners, whose values would be the same, only read
    `seen`."""

    @classmethod
    def allocate(cls, slots: int) -> "Guesses":
        """Allocate for `slots` waiting rows."""
        return cls(np.zeros((slots, 2)), np.zeros((0, 2)))

    def shared(self, n: int, learners: int) -> "list[Guesses]":
        """Share between the metrics of several learners on the same batch of n rows; the first one writes."""
        seen = np.zeros((n, 2))
        return [Guesses(self.of, seen, i == 0) for i in range(learners)]


NO_GUESSES = Guesses.allocate(0)
NO_SLOTS = np.zeros(0, np.int64)


class ClassificationMetrics:
    """Total, windowed and fading accuracy, with kappa and the two label-only baselines.

    Parameters
    ----------
    n_classes, n_scores : int
        K and k of the learner.
    window : int
        Rows of the rolling window, >= 1. Default 1000.
    fading : float
        Weight of the past per row, 0 < fading <= 1. Default 0.999.

    Raises
    ------
    ValueError
        A window without rows, or a fading factor outside (0, 1].
    """

    def __init__(self, n_classes: int, n_scores: int, window: int = 1000, fading: float = 0.999) -> None:
        check_memory(window, fading)
        self.n_classes, self.n_scores = n_classes, n_scores
        self.kind = "binary" if n_scores == 1 else "multiclass"
        self.window, self.fading = window, float(fading)
        self._sizes = {"K": n_classes, "words": -(-window // WORD_BITS)}
        self.state = State(fields_of(ClassificationMetricsState, self._sizes))
        # No-change and majority both start at class 1 in binary (a tie), at class 0 otherwise.
        self.state["last"][0] = 1 if self.kind == "binary" else 0
        self._memory = as_views(ClassificationMetricsState, self.state)

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        check_ranges(ClassificationMetricsState, self._sizes, State(self.state.fields, memory))

    def continue_from(self, before: "ClassificationMetrics") -> bool:
        """Go on where other metrics of the same classes stand, and return whether that is possible.

        The state is then the one that this window would have had from the first row on. It is not possible if the
        window holds rows that the other one has dropped; then nothing changes.
        """
        labels = int(before.state["labels"][0])
        if min(labels, self.window) > before.window:
            return False
        for name in self.state:
            if name != "ring":
                self.state[name][:] = before.state[name]
        rows = window_rows(labels, self.window)
        old, new = rows % before.window, rows % self.window
        right = (before.state["ring"][old // WORD_BITS] >> (old % WORD_BITS).astype(np.uint64)) & np.uint64(1)
        self.state["ring"][:] = 0
        np.bitwise_or.at(self.state["ring"], new // WORD_BITS, right << (new % WORD_BITS).astype(np.uint64))
        self.state["hits"][-1] = right.sum()
        return True

    def observe(self, score: Array, y: Array) -> None:
        """Add a batch: score f8[n, k], y f8[n]; rows without a label are skipped.

        Raises
        ------
        ValueError
            A label is not a class index.
        """
        self.counter(score, y)(0, len(y))

    def counter(
        self, score: Array, y: Array, slot: Counts = NO_SLOTS, guesses: Guesses = NO_GUESSES
    ) -> Callable[[int, int], None]:
        """Prepare a batch as for `observe` and return ``count(start, end)``, which adds that range of its rows.

        With delayed labels, slot i8[n] is that of `driftway.learners.engine.update_loop.DelayedRows`; the baselines'
        predictions are then those made before the delay, too.

        Raises
        ------
        ValueError
            A label is not a class index.
        """
        check_labels(y, self.n_classes)
        prediction, labels, binary = predicted_class(score, self.kind), as_behaved(y), self.kind == "binary"

        def count(start: int, end: int) -> None:
            of, seen = guesses.of, guesses.seen[start:end]
            batch = PredictedRows(prediction[start:end], labels[start:end], slot[start:end], of, seen)
            count_hits(batch, guesses.leads, binary, self.window, self.fading, self._memory)

        return count

    def point(self) -> dict[str, Any]:
        """Return the current values as plain numbers; None for those that are not defined yet."""
        memory = self._memory
        (labels,), (faded, weight) = memory.labels.tolist(), memory.fading.tolist()
        hits, no_change, majority, in_window = memory.hits.tolist()
        first, no_change_first = memory.first.tolist()
        rows = min(labels, self.window)
        classes = zip(memory.actual.tolist(), memory.predicted.tolist(), strict=True)
        by_chance = math.fsum((actual / labels) * (predicted / labels) for actual, predicted in classes if labels)
        return {
            "labels": labels,
            "window": rows,
            "window_accuracy": ratio(in_window, rows),
            "fading_accuracy": ratio(faded, weight),
            "accuracy": ratio(hits, labels),
            "kappa": kappa(ratio(hits, labels), by_chance),
            "kappa_temporal": kappa(ratio(hits - first, labels - 1), ratio(no_change - no_change_first, labels - 1)),
            "no_change_accuracy": ratio(no_change, labels),
            "majority_accuracy": ratio(majority, labels),
        }


def check_memory(window: int, fading: float) -> None:
    """Raise ValueError unless window >= 1 and 0 < fading <= 1."""
    if window < 1:
        raise ValueError(f"window must be >= 1, got {window}")
    if not 0.0 < fading <= 1.0:
        raise ValueError(f"fading must be > 0 and <= 1, got {fading}")


def window_rows(labels: int, window: int) -> Counts:
    """Numbers of the labelled rows in a window after `labels` of them, i8[rows]; row t is at place t % window."""
    return np.arange(labels - min(labels, window), labels)


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, or None if `whole` is 0."""
    return part / whole if whole > 0 else None


def kappa(accuracy: float | None, reference: float | None) -> float | None:
    """Return the share of the reference's errors that is avoided, or None if the reference makes none.

    See docs/decisions/0044.
    """
    if accuracy is None or reference is None or 1.0 - reference < 1e-12:
        return None
    return (accuracy - reference) / (1.0 - reference)


class PredictedRows(NamedTuple):
    """The rows for `count_hits`."""

    prediction: Counts
    """i8[n]"""
    y: Array
    """f8[n]"""
    slot: Counts
    """i8[n], or i8[0] without delayed rows"""
    guess: Array
    """f8[slots, 2]"""
    seen: Array
    """f8[n, 2]"""


@kernel
def count_hits(
    batch: PredictedRows, leads: bool, binary: bool, window: int, fading: float, memory: ClassificationMetricsState
) -> None:
    """Add each labelled row to the totals, baselines, fading sums, and the ring of hits.

    The baselines predict a row before its label, as the learner does: for a row that waits, their predictions are kept.
    Window hits are integers, so they accumulate no rounding error.
    """
    prediction, y, slots, guess, seen = batch
    waiting = slots.shape[0] > 0
    labels, hits, first, actual, predicted, last, faded, ring = memory
    one = np.uint64(1)
    slot = labels[0] % window  # once per call, then incremented: a division would be a quarter of a row's time
    for t in range(y.shape[0]):
        late = waiting and slots[t] >= 0
        if math.isnan(y[t]):
            if late and leads:
                guess[slots[t], 0] = last[0]
                guess[slots[t], 1] = majority(actual, binary)
            continue
        if late and leads:
            seen[t, 0], seen[t, 1] = guess[slots[t], 0], guess[slots[t], 1]
        label = int(y[t])
        hit = 1 if prediction[t] == label else 0
        no_change = int(seen[t, 0]) if late else last[0]
        favourite = int(seen[t, 1]) if late else majority(actual, binary)
        no_change_hit = 1 if no_change == label else 0
        if labels[0] == 0:
            first[0] = hit
            first[1] = no_change_hit
        word, bit = slot // WORD_BITS, np.uint64(slot % WORD_BITS)
        leaving = np.int64((ring[word] >> bit) & one)
        ring[word] = (ring[word] & ~(one << bit)) | (np.uint64(hit) << bit)
        hits[0] += hit
        hits[1] += no_change_hit
        hits[2] += 1 if favourite == label else 0
        hits[3] += hit - leaving
        actual[label] += 1
        predicted[prediction[t]] += 1
        faded[0] = hit + fading * faded[0]
        faded[1] = 1.0 + fading * faded[1]
        last[0] = label
        labels[0] += 1
        slot = slot + 1 if slot + 1 < window else 0


@fragment
def majority(actual: Counts, binary: bool) -> int:
    """Return the most frequent class; a tie goes to class 1 of two, to the lowest of several. Shapes: actual i8[K]."""
    if binary:
        return 1 if actual[1] >= actual[0] else 0
    favourite = 0
    for c in range(1, actual.shape[0]):
        if actual[c] > actual[favourite]:
            favourite = c
    return favourite
