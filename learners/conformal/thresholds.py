"""The threshold of conformal scores that a given share of them does not exceed, tracked while they drift.

A conformal score says how badly a label fits a prediction: the distance of a target from it, or how far the score of
the label's class is below the best. Experts follow the quantile of the scores with different steps, on a logarithmic
axis where a step is a factor. The threshold is their mean, weighted by their losses, plus a correction that depends on
how many labels were outside what was emitted.
"""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log

STEPS = (0.01, 0.03, 0.1, 0.3)
"""Steps of the experts, in units of the axis; the first labels move them by more, 1 / sqrt(n)."""
EXPERTS = len(STEPS)
FASTEST = EXPERTS - 1
SIZES = {"experts": EXPERTS}
RATE, LARGEST_LOSS = 0.2, 2.0
"""Learning rate of the weights; distances above LARGEST_LOSS count as that in a loss."""
SHARED = 0.001
"""Share of all weights that is distributed equally at every label: an expert that was bad for long can come back."""
GAIN = 0.03
"""Step of the correction. With labels d rows late it is GAIN / (1 + GAIN d): an error is repeated for d rows before its
correction is seen, and a larger one overshoots."""
LEAST_CORRECTION, LARGEST_CORRECTION = -1.0, 5.0
"""If most targets are predicted exactly, even intervals of zero width cover too much, and the correction falls to its
bound: with -5 a fifth of the labels is missed in the 1,000 rows after that ends. Too few are covered for long only if
labels come very late."""

LOWEST, HIGHEST = -745.0, 709.0
"""Ends of the axis: e^LOWEST is the smallest number above 0, e^HIGHEST nearly the largest."""
FAR, UNLIKELY = 3.0, 0.001
"""A run of scores beyond FAR (a factor of 20) from the fastest expert, of a length that has a probability below
UNLIKELY, moves it there at once: else a scale that jumps by 1e6 would cost hundreds of labels. Without FAR, errors that
come in runs, as those of time series do, set it off all the time."""
SPREAD = 3.0
"""The other experts stay within this distance from the fastest."""
SCALE_UP, SCALE_DOWN = 1.0512710963760241, 0.951229424500714
"""e^0.05 and its inverse: step of the scale of signed scores, which follows the median of their absolute values."""
SCALE_RUN, SCALE_FAR = 10, 20.0
"""So many scores in a row that are larger or smaller by this factor move the scale at once."""
LEAST_SCALE, LARGEST_SCALE = 1e-300, 1e300

THRESHOLD, ROWS, PLACES = 0, 1, 2
CACHED = PLACES + EXPERTS
"""What is cached of a row that waits for its label: its threshold, `rows` at its emission, the experts' places."""


class Level(NamedTuple):
    """Constants of a level."""

    coverage: float
    """Share of the labels that is to be covered."""
    signed: bool
    """Whether conformal scores may be negative."""
    first: int
    """Labels before the first finite threshold: with fewer, no score seen so far is large enough."""
    misses: int
    """Length of a run of scores above the threshold that is UNLIKELY."""
    hits: int
    """Length of a run of scores below the threshold that is UNLIKELY."""


class Thresholds(NamedTuple):
    """State of the experts."""

    labels: Counts = field("i8[1]", "labels so far")
    rows: Counts = field("i8[1]", "thresholds emitted so far")
    place: Array = field("f8[experts]", "threshold of each expert, on the axis")
    weight: Array = field("f8[experts]", "its weight; they sum to 1", 1.0 / EXPERTS)
    correction: Array = field("f8[1]", "what is added to their mean")
    largest: Array = field("f8[1]", "largest of the first scores")
    run: Counts = field("i8[2]", "scores in a row that are FAR above the fastest expert, and FAR below")
    run_largest: Array = field("f8[2]", "the largest of each run, on the axis")
    scale: Array = field("f8[1]", "median of the absolute values of signed scores; 0 as long as all are 0")
    scale_run: Counts = field("i8[2]", "scores in a row that are much larger than the scale, and much smaller")


def level_of(coverage: float, signed: bool) -> Level:
    """Return the constants of a level.

    Raises
    ------
    ValueError
        Unless 0 < coverage <= 0.9999.
    """
    if not 0.0 < coverage <= 0.9999:
        raise ValueError(f"coverage must be > 0 and <= 0.9999, got {coverage:g}")
    first = max(1, math.ceil(coverage / (1.0 - coverage) - 1e-9))
    return Level(coverage, signed, first, run_length(1.0 - coverage), run_length(coverage))


def run_length(share: float) -> int:
    """Number of independent events of probability `share` in a row that are UNLIKELY."""
    n, probability = 0, 1.0
    while probability > UNLIKELY:
        n, probability = n + 1, probability * share
    return n


@fragment
def to_axis(score: float, signed: bool, scale: float) -> float:
    """Place of a conformal score on the axis: its logarithm; of a signed one, that of 1 + |score| / scale, signed."""
    if signed:
        size = log(1.0 + abs(score) / scale) if scale > 0.0 else 0.0
        place = size if score >= 0.0 else -size
    else:
        place = log(score) if score > 0.0 else LOWEST
    return min(max(place, LOWEST), HIGHEST)


@fragment
def from_axis(place: float, signed: bool, scale: float) -> float:
    """Return the conformal score at a place, infinite above the end of the axis."""
    if signed:
        size = (exp(abs(place)) - 1.0) * scale
        return size if place >= 0.0 else -size
    return exp(place) if place > LOWEST else 0.0


@fragment
def threshold(level: Level, memory: Thresholds) -> float:
    """Return the present threshold; infinite before enough labels have come."""
    if memory.labels[0] < level.first:
        return math.inf
    place = memory.correction[0]
    for e in range(EXPERTS):
        place += memory.weight[e] * memory.place[e]
    return from_axis(place, level.signed, memory.scale[0])


@fragment
def keep(emitted: float, cached: Array, memory: Thresholds) -> None:
    """Keep what `learn` needs of a row that waits for its label; cached is f8[CACHED]."""
    cached[THRESHOLD], cached[ROWS] = emitted, memory.rows[0]
    for e in range(EXPERTS):
        cached[PLACES + e] = memory.place[e]


@fragment
def learn(
    score: float, covered: bool, emitted: float, later: float, places: Array, level: Level, memory: Thresholds
) -> None:
    """Learn from the conformal score of a label.

    The experts' weights and the correction judge what was emitted, `places` f8[experts] and `emitted`, which is what
    feedback makes up for; the experts themselves follow the scores from where they are now. `later` is the number of
    thresholds emitted since.
    """
    c, place, weight = level.coverage, memory.place, memory.weight
    memory.labels[0] += 1
    labels = memory.labels[0]
    if labels <= level.first:
        if level.signed:
            follow_scale(score, memory)
        memory.largest[0] = score if labels == 1 else max(score, memory.largest[0])
        if labels == level.first:
            for e in range(EXPERTS):
                place[e] = to_axis(memory.largest[0], level.signed, memory.scale[0])
        return
    at = to_axis(score, level.signed, memory.scale[0])
    judged = math.isfinite(emitted)
    least_step = 1.0 / math.sqrt(labels - level.first)
    total = 0.0
    for e in range(EXPERTS):
        if judged:
            distance = min(max(at - places[e], -LARGEST_LOSS), LARGEST_LOSS)
            weight[e] *= exp(-RATE * (c * distance if distance > 0.0 else (c - 1.0) * distance))
        total += weight[e]
        step = max(STEPS[e], least_step)
        place[e] += step * c if at > place[e] else step * (c - 1.0)
    for e in range(EXPERTS):
        weight[e] = (1.0 - SHARED) * weight[e] / total + SHARED / EXPERTS
    catch_up(at, level, memory)
    if judged:
        step = GAIN / (1.0 + GAIN * later)
        corrected = memory.correction[0] + (step * (c - 1.0) if covered else step * c)
        memory.correction[0] = min(max(corrected, LEAST_CORRECTION), LARGEST_CORRECTION)
    if level.signed:
        follow_scale(score, memory)  # last: the experts are judged on the axis on which they predicted


@fragment
def catch_up(at: float, level: Level, memory: Thresholds) -> None:
    """Move the fastest expert to a run of scores that is FAR from it, and the others along with it."""
    place, run, largest = memory.place, memory.run, memory.run_largest
    fastest = place[FASTEST]
    side = 0 if at > fastest + FAR else 1
    if abs(at - fastest) > FAR:
        run[side], run[1 - side] = run[side] + 1, 0
        largest[side] = at if run[side] == 1 else max(at, largest[side])
        if run[side] >= (level.misses if side == 0 else level.hits):
            fastest, run[side] = largest[side], 0
    else:
        run[0], run[1] = 0, 0
    place[FASTEST] = min(max(fastest, LOWEST), HIGHEST)
    for e in range(FASTEST):
        place[e] = min(max(place[e], place[FASTEST] - SPREAD, LOWEST), place[FASTEST] + SPREAD, HIGHEST)


@fragment
def follow_scale(score: float, memory: Thresholds) -> None:
    """Move the scale towards the median of |score|; an exact 0, as of a learner that knows nothing yet, is skipped."""
    scale, run, size = memory.scale, memory.scale_run, abs(score)
    if size == 0.0:
        return
    before = scale[0]
    if before == 0.0:
        scale[0] = min(max(size, LEAST_SCALE), LARGEST_SCALE)
        return
    side = 0 if size > before else 1
    far = size > before * SCALE_FAR or size < before / SCALE_FAR
    run[side], run[1 - side] = (run[side] + 1 if far else 0), 0
    moved = before * (SCALE_UP if side == 0 else SCALE_DOWN)
    if run[side] >= SCALE_RUN:
        moved, run[side] = size, 0
        memory.run[0], memory.run[1] = 0, 0  # their largest scores are places on the axis as it was
        for e in range(EXPERTS):
            memory.place[e] = to_axis(from_axis(memory.place[e], True, before), True, size)
    scale[0] = min(max(moved, LEAST_SCALE), LARGEST_SCALE)
