"""The probability that a prediction is right, learned online from scores and labels: Platt scaling, then bins.

A logistic regression on the evidence (`driftway.learners.metrics.evidence`) follows drifts with a forgetting
factor. What it still misses is corrected in each of twenty bins of its probability by the mean of its recent errors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.contract import Array, Counts, Learner, field, fragment, kernel
from driftway.learners.engine.array_checks import as_behaved
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of, write_defaults
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.learners.metrics.evidence import evidence_of
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.probabilities import link_of
from driftway.learners.metrics.reliability import BINS, MILLION
from driftway.learners.numeric.elementary.exponential import exp

Millionths = NDArray[np.int32]

FORM = 1
"""Number of this calibrator in snapshots; another algorithm, or other constants, would need the next one."""
SIZES = {"bins": BINS}
MOST = 1.0 - 1.0 / MILLION
"""No prediction is certain, so the log loss is finite."""
ROWS_PER_STEP = 8
"""Labels per step of the regression: rows between two steps do not wait for each other, which halves the time."""
STEEPEST = 30.0
"""Bound of the regression's intercept and slope."""
LEAST_CURVATURE = 1e-3
SCALE_KEEPS = 0.99
"""Weight of the past per label in the mean margin."""
LARGEST_MARGIN = 1e200
"""Larger ones are not part of the mean margin: their sum must stay finite."""
MOST_MEANS = 100.0
"""A margin counts as at most so many mean margins in the next mean: one huge one must not hide all others for long."""
LEAST_MARGINS = 1e-290


class CalibratorConstants(NamedTuple):
    """Constants, chosen by evidence: docs/decisions/0055."""

    scaled: bool
    """Whether the evidence is divided by its mean: margins have no unit."""
    largest: float
    """Evidence beyond this counts as this."""
    keeps: float
    """Weight of the past per label in the regression."""
    prior: float
    """Curvature before the first label, which never falls below it: it makes the steps smaller."""
    bin_keeps: float
    """Weight of the past per label in a bin."""
    bin_prior: float
    """So many labels without an error count in each bin."""


OF_MARGIN = CalibratorConstants(True, 8.0, 0.995, 1.0, 0.998, 10.0)
OF_LOG_ODDS = CalibratorConstants(False, 14.0, 0.998, 50.0, 0.998, 50.0)


class CalibratorState(NamedTuple):
    """State of the calibrator."""

    line: Array = field("f8[2]", "intercept and slope of the log-odds of being right")
    curvature: Array = field("f8[3]", "of the log loss by the intercept, by both, and by the slope")
    step: Array = field("f8[4]", "since the last step: gradient by intercept and by slope, sum of evidence, of squares")
    taught: Counts = field("i8[1]", "labels since the last step")
    scale: Array = field("f8[3]", "fading sums of margins and of labels, and 1 / their mean at the last step")
    missed: Array = field("f8[bins]", "fading sums of right (1 or 0) minus the regression's probability")
    weight: Array = field("f8[bins]", "fading sums of labels")


class ScoredRows(NamedTuple):
    """The rows for `run`."""

    evidence: Array
    """f8[n]"""
    predicted: Counts
    """i8[n]"""
    y: Array
    """f8[n]"""
    slot: Counts
    """i8[n], or i8[0] without delayed rows"""
    waiting: Millionths
    """i4[slots]"""


class Calibrator:
    """Turns scores into the probability that the class predicted is right, and learns from the labels.

    The probability is a whole number of millionths, at least 1 / K and at most 0.999999: it never changes which class
    is predicted. A row's is from before its label; a late label teaches by the score that was emitted for its row.

    Parameters
    ----------
    n_classes : int
        K of the learner, >= 2.
    link : str or None
        How its scores map to probabilities, see `driftway.learners.metrics.probabilities.link_of`.

    Source
    ------
    docs/decisions/0055. Platt, Advances in Large Margin Classifiers, 1999; Gupta and Ramdas, ICML 2023: online Platt
    scaling with calibeating; Foster and Hart, Theoretical Economics 18, 2023: calibeating; Gupta and Ramdas, ICLR 2022:
    of the class predicted only. Differs: Newton steps with a forgetting factor instead of online Newton steps, and bins
    that add their recent mean error to the probability instead of replacing it by their recent mean.
    """

    def __init__(self, n_classes: int, link: str | None) -> None:
        self.n_classes, self.link = n_classes, link
        self.kind = "binary" if n_classes == 2 else "multiclass"
        self.form = OF_MARGIN if link is None else OF_LOG_ODDS
        self.state = State(fields_of(CalibratorState, SIZES))
        write_defaults(CalibratorState, self.state)
        self.state["line"][:] = 0.0, 1.0
        self.state["curvature"][:] = self.form.prior, 0.0, self.form.prior
        self.state["scale"][2] = 0.0 if self.form.scaled else 1.0
        self._memory = as_views(CalibratorState, self.state)

    @classmethod
    def behind(cls, learner: Learner) -> "Calibrator":
        """Create that of a classification learner."""
        return cls(learner.n_classes, link_of(learner))

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        check_ranges(CalibratorState, SIZES, State(self.state.fields, memory))

    def calibrate(self, score: Array, y: Array, slot: Counts = NO_SLOTS, waiting: Millionths | None = None) -> Counts:
        """Return each row's probability in millionths, i8[n], and learn from its label, row by row.

        Parameters
        ----------
        score : f8[n, k]
            As emitted, finite or not.
        y : f8[n]
            Class indices; NaN: unknown.
        slot : i8[n]
            With delayed labels, that of `driftway.learners.engine.update_loop.DelayedRows`: a row that waits puts its
            probability into its slot, and with its label gets it back.
        waiting : i4[slots] or None
            Probabilities of rows that wait, in millionths; None: none waits.
        """
        predicted = predicted_class(score, self.kind)
        evidence, out = evidence_of(score, predicted, self.link), np.empty(len(score), np.int64)
        kept = np.zeros(0, np.int32) if waiting is None else waiting
        run(ScoredRows(evidence, predicted, as_behaved(y), slot, kept), self.n_classes, self.form, self._memory, out)
        return out

    def compile_kernels(self) -> None:
        """Compile or load the kernels; a row without a label changes nothing."""
        self.calibrate(np.zeros((1, 1 if self.kind == "binary" else self.n_classes)), np.full(1, np.nan))


@kernel
def run(batch: ScoredRows, n_classes: int, form: CalibratorConstants, memory: CalibratorState, out: Counts) -> None:
    """Write each row's probability, from before its label, then learn from that. Shapes: `ScoredRows`, out i8[n].

    The regression is held in local variables: from one row to the next through memory would take half as long again.
    """
    evidence, predicted, y, slots, waiting = batch
    least, fewest = 1.0 / n_classes, (MILLION + n_classes - 1) // n_classes
    late = slots.shape[0] > 0
    again = (1.0 - form.keeps) * form.prior
    intercept, slope = memory.line
    a, b, c = memory.curvature
    pull, pull_x, sum_x, squares = memory.step
    taught = memory.taught[0]
    margins, labels, unit = memory.scale
    most = MOST_MEANS / unit if unit > 0.0 else LARGEST_MARGIN
    for t in range(y.shape[0]):
        x = evidence[t] * unit if unit > 0.0 else min(evidence[t], 1.0)
        x = max(min(x, form.largest), -form.largest)
        raw = 1.0 / (1.0 + exp(-intercept - slope * x))
        p = min(max(raw, least), MOST)
        j = int(p * BINS)
        emitted = p + memory.missed[j] / (memory.weight[j] + form.bin_prior)
        out[t] = min(max(int(emitted * MILLION + 0.5), fewest), MILLION - 1)
        known = not math.isnan(y[t])
        if late and slots[t] >= 0:
            if known:
                out[t] = waiting[slots[t]]
            else:
                waiting[slots[t]] = out[t]
        if not known:
            continue
        right = 1.0 if predicted[t] == y[t] else 0.0
        memory.missed[j] = form.bin_keeps * memory.missed[j] + (right - p)
        memory.weight[j] = form.bin_keeps * memory.weight[j] + 1.0
        error, w = right - raw, max(raw * (1.0 - raw), LEAST_CURVATURE)
        a, b, c = form.keeps * a + (w + again), form.keeps * b + w * x, form.keeps * c + (w * x * x + again)
        pull, pull_x, sum_x, squares = pull + error, pull_x + error * x, sum_x + x, squares + x * x
        if form.scaled and evidence[t] < LARGEST_MARGIN:
            margins = SCALE_KEEPS * margins + min(evidence[t], most)
            labels = SCALE_KEEPS * labels + 1.0
        taught += 1
        if taught == ROWS_PER_STEP:
            # A Newton step. The curvature of its own rows counts as 1/4 more, its most: none is too long.
            p_a, p_b, p_c = a + 0.25 * ROWS_PER_STEP, b + 0.25 * sum_x, c + 0.25 * squares
            length = 1.0 / (p_a * p_c - p_b * p_b)
            intercept = min(max(intercept + length * (p_c * pull - p_b * pull_x), -STEEPEST), STEEPEST)
            slope = min(max(slope + length * (p_a * pull_x - p_b * pull), 0.0), STEEPEST)
            pull, pull_x, sum_x, squares, taught = 0.0, 0.0, 0.0, 0.0, 0
            unit = unit_of(margins, labels) if form.scaled else 1.0
            most = MOST_MEANS / unit if unit > 0.0 else LARGEST_MARGIN
    memory.line[0], memory.line[1] = intercept, slope
    memory.curvature[0], memory.curvature[1], memory.curvature[2] = a, b, c
    memory.step[0], memory.step[1], memory.step[2], memory.step[3] = pull, pull_x, sum_x, squares
    memory.taught[0] = taught
    memory.scale[0], memory.scale[1], memory.scale[2] = margins, labels, unit


@fragment
def unit_of(margins: float, labels: float) -> float:
    """1 / the mean margin; 0 if there is none, or it is next to nothing."""
    return labels / margins if margins > LEAST_MARGINS else 0.0
