"""Quality of predicted probabilities: log loss, Brier score, calibration error (docs/algorithms/metrics.md).

They are of the event that the prediction is right. With two classes, log loss and Brier score are those of class 1.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of, write_defaults
from driftway.learners.metrics.classification import check_memory, window_rows
from driftway.learners.numeric.elementary.logarithm import log

MILLION = 1_000_000
BINS = 20
"""Bins of equal width for the calibration error: [0, 0.05), [0.05, 0.1) .. [0.95, 1]."""
FIGURES = "calibrated_log_loss", "calibrated_brier", "calibration_error"
WIDTH = MILLION // BINS
SMALLEST_PRODUCT = 1e-290
"""The product of probabilities is kept above this by taking its logarithm: one logarithm per row would cost more."""


class ReliabilityState(NamedTuple):
    """State of the metrics."""

    labels: Counts = field("i8[1]", "labelled rows so far")
    product: Array = field("f8[1]", "product of the probabilities of what happened, since its last logarithm", 1.0)
    losses: Array = field("f8[2]", "log loss until then, Brier score, over all rows")
    bins: Counts = field("i8[3, bins]", "rows by bin of their probability, of them right, sum of their millionths")
    recent: Counts = field("i8[3, bins]", "the same inside the window")
    squares: NDArray[np.uint64] = field("u8[1]", "Brier score inside the window, in units of 10^-12")
    ring: NDArray[np.uint64] = field("u8[words]", "i4 for each row of the window: twice its probability, + 1 if right")


class ReliabilityMetrics:
    """Log loss, Brier score and calibration error of emitted probabilities, over all rows and a rolling window.

    The log loss is the mean of -ln p where the prediction is right and of -ln(1 - p) where it is wrong, the Brier score
    the mean of (right - p)^2. The calibration error (ECE) is the mean over rows of |mean p - share right| in the row's
    bin, of BINS bins of equal width.

    Parameters
    ----------
    window : int
        Rows of the rolling window, >= 1. Default 1000.

    Raises
    ------
    ValueError
        A window without rows.

    Source
    ------
    docs/algorithms/metrics.md#metrics; Brier, Monthly Weather Review 78, 1950; Naeini, Cooper and Hauskrecht, AAAI 2015
    (ECE). Differs: of the class predicted only, as in Guo et al., ICML 2017.
    """

    def __init__(self, window: int = 1000) -> None:
        check_memory(window, 1.0)
        self.window = window
        self._sizes = {"bins": BINS, "words": (window + 1) // 2}
        self.state = State(fields_of(ReliabilityState, self._sizes))
        write_defaults(ReliabilityState, self.state)
        self._memory = as_views(ReliabilityState, self.state)
        self._ring = ring_of(self.state)
        self._figures = np.zeros((2, len(FIGURES)))

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        state = State(self.state.fields, memory)
        check_ranges(ReliabilityState, self._sizes, state)
        ring = ring_of(state)
        if ((ring < 0) | (ring >= 2 * MILLION)).any():
            raise ValueError("ring in the state has a probability outside 0..1")

    def continue_from(self, before: "ReliabilityMetrics") -> bool:
        """As `driftway.learners.metrics.classification.ClassificationMetrics.continue_from`."""
        labels = int(before.state["labels"][0])
        if min(labels, self.window) > before.window:
            return False
        rows = window_rows(labels, self.window)
        for name in self.state:
            if name != "ring":
                self.state[name][:] = before.state[name]
        self._ring[:] = 0
        self._ring[rows % self.window] = ring_of(before.state)[rows % before.window]
        kept = self._ring[rows % self.window].astype(np.int64)
        millionths, right = kept >> 1, kept & 1
        for into, weight in zip(self._memory.recent, (np.ones_like(kept), right, millionths), strict=True):
            into[:] = 0
            np.add.at(into, millionths // WIDTH, weight)
        self._memory.squares[0] = ((MILLION * right - millionths) ** 2).sum()
        return True

    def counter(self, millionths: Counts, predicted: Counts, y: Array) -> Callable[[int, int], None]:
        """Prepare a batch and return ``count(start, end)``, which adds that range of its rows.

        Parameters
        ----------
        millionths : i8[n]
            Probabilities as emitted; those of rows without a label are not used.
        predicted : i8[n]
            Classes predicted.
        y : f8[n]
            Class indices; NaN: unknown.
        """
        labels = as_behaved(y)

        def count(start: int, end: int) -> None:
            piece = millionths[start:end], predicted[start:end], labels[start:end]
            add_rows(*piece, self.window, self._memory, self._ring)

        return count

    def point(self) -> dict[str, Any]:
        """Return the current values; None before the first label."""
        labels = int(self._memory.labels[0])
        means(self._memory, self._ring, self.window, self._figures)
        found: dict[str, Any] = {}
        for prefix, figures in zip(("window_", ""), self._figures.tolist(), strict=True):
            for name, figure in zip(FIGURES, figures, strict=True):
                found[prefix + name] = figure if labels else None
        return found

    def bins(self) -> list[list[int]]:
        """The bins that hold rows: index, rows, rows that were right, sum of their probabilities in millionths."""
        columns = zip(*self._memory.bins.tolist(), strict=True)
        return [[j, *column] for j, column in enumerate(columns) if column[0]]

    def compile_kernels(self) -> None:
        """Compile or load the kernels; a row without a label changes nothing."""
        self.counter(np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, np.nan))(0, 1)
        self.point()


def ring_of(state: State) -> NDArray[np.int32]:
    """View the ring as i4, two for each word."""
    return state["ring"].view(np.int32)


@kernel
def add_rows(
    millionths: Counts, predicted: Counts, y: Array, window: int, memory: ReliabilityState, ring: NDArray[np.int32]
) -> None:
    """Add each labelled row to the sums and to the ring. Shapes: all i8[n] but y f8[n]."""
    labels = memory.labels[0]
    place, squares, product, brier = labels % window, memory.squares[0], memory.product[0], memory.losses[1]
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            continue
        right = 1 if predicted[t] == y[t] else 0
        if labels >= window:
            leaving = int(ring[place])
            put(leaving >> 1, leaving & 1, -1, memory.recent)
            squares -= square_of(leaving >> 1, leaving & 1)
        ring[place] = 2 * millionths[t] + right
        put(millionths[t], right, 1, memory.recent)
        put(millionths[t], right, 1, memory.bins)
        squares += square_of(millionths[t], right)
        happened = share_of(millionths[t], right)
        brier += (1.0 - happened) * (1.0 - happened)
        product *= happened
        if product < SMALLEST_PRODUCT:
            memory.losses[0] += log(product)
            product = 1.0
        place = place + 1 if place + 1 < window else 0
        labels += 1
    memory.labels[0], memory.squares[0], memory.product[0], memory.losses[1] = labels, squares, product, brier


@fragment
def put(millionths: int, right: int, sign: int, bins: Counts) -> None:
    """Add a row to the bins i8[3, bins], or take it out."""
    j = millionths // WIDTH
    bins[0, j] += sign
    bins[1, j] += sign * right
    bins[2, j] += sign * millionths


@fragment
def share_of(millionths: int, right: int) -> float:
    """The probability of what happened."""
    return (millionths if right == 1 else MILLION - millionths) * (1.0 / MILLION)


@fragment
def square_of(millionths: int, right: int) -> np.uint64:
    """The squared error of a row's probability, in units of 10^-12."""
    miss = MILLION * right - millionths
    return np.uint64(miss * miss)


@kernel
def means(memory: ReliabilityState, ring: NDArray[np.int32], window: int, out: Array) -> None:
    """Write FIGURES of the window and of all rows. Shapes: ring i4[window], out f8[2, 3], unchanged without rows."""
    labels = memory.labels[0]
    rows = min(labels, window)
    if rows == 0:
        return
    product, log_loss = 1.0, 0.0
    for i in range(rows):
        product *= share_of(ring[i] >> 1, ring[i] & 1)
        if product < SMALLEST_PRODUCT:
            log_loss += log(product)
            product = 1.0
    out[0, 0] = (0.0 - log_loss - log(product)) / rows
    out[0, 1] = memory.squares[0] / (1e12 * rows)
    out[0, 2] = gap(memory.recent) / (MILLION * rows)
    out[1, 0] = (0.0 - memory.losses[0] - log(memory.product[0])) / labels
    out[1, 1] = memory.losses[1] / labels
    out[1, 2] = gap(memory.bins) / (MILLION * labels)


@fragment
def gap(bins: Counts) -> int:
    """Sum over the bins of |sum of probabilities - right rows|, in millionths."""
    off = 0
    for j in range(bins.shape[1]):
        off += abs(bins[2, j] - MILLION * bins[1, j])
    return off
