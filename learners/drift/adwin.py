"""Adaptive windowing (ADWIN)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, field, fragment, integer, number
from driftway.learners.drift.detector import DRIFT, QUIET, Detector, DetectorRule
from driftway.learners.numeric.elementary.logarithm import log

LEVELS = 32
"""Levels of buckets, each twice as long as at the level below; with 5 buckets each they hold 2 * 10^10 rows."""


class ADWIN(Detector):
    """A window of errors, as long as their mean is constant; dropping its older part is a drift.

    Accepts losses in [0, 1] as well as mistakes, and needs no assumption on how long concepts last. It also signals
    when errors decrease, as the older part is dropped then, too. There are no warnings.

    Rows are stored in buckets of 1, 2, 4, .. rows, at most `max_buckets` of each size, with their sum and squared
    deviations. Every `clock` rows each border between buckets is tested: if the means u_0 and u_1 of the n_0 rows
    before and the n_1 after it differ by more than sqrt(2 m v L) + 2/3 m L, the oldest bucket is dropped and all
    borders are tested again; m = 1/n_0 + 1/n_1, v the window's variance, L = ln(2 ln W / delta), W its length.

    Cost
    ----
    O(max_buckets log W) every `clock` rows, O(1) for the others; 512 (max_buckets + 1) + 288 bytes.

    Source
    ------
    Bifet and Gavalda, SDM 2007, ADWIN2. docs/algorithms/drift.md#drift-detectors. Differs: the cut of the reference
    implementation, with n_0 and n_1 reduced by min_sub - 1 in m, and delta not divided by W.
    """

    name = "adwin"
    clips = True

    class Params(Parameters):
        delta: float = number(
            0.002, "Confidence of a cut. Larger = earlier, and more false ones.", above=0.0, below=1.0
        )
        clock: int = integer(32, "Rows from one look to the next.", at_least=1)
        max_buckets: int = integer(5, "Buckets of one length.", at_least=1, at_most=1000)
        min_window: int = integer(10, "Rows of the window before any look.", at_least=1)
        min_sub: int = integer(5, "Rows that each side of a border must have more than, and one.", at_least=1)

    def rule(self) -> DetectorRule:
        p = self.parameters
        return DetectorRule(detect, p.numbers(), ADWINState, {"levels": LEVELS, "M": p.max_buckets + 1})


class ADWINState(NamedTuple):
    """State of `adwin`. Buckets of a level are ordered by age, oldest first."""

    rows: Counts = field("i8[1]", "all that were seen: when to look")
    width: Counts = field("i8[1]", "W, rows of the window")
    whole: Array = field("f8[2]", "their sum, and the sum of squared deviations from their mean")
    buckets: Counts = field("i8[levels]", "how many there are of each level", largest="M - 1")
    total: Array = field("f8[levels, M]", "sums of the buckets")
    squares: Array = field("f8[levels, M]", "sums of squared deviations from their means")


@fragment
def detect(error: float, p: ADWIN.Params, memory: ADWINState) -> int:
    """Add an error, clipped to [0, 1].

    See docs/algorithms/drift.md#drift-detectors.
    """
    insert(min(max(error, 0.0), 1.0), memory)
    memory.rows[0] += 1
    found = QUIET
    if memory.rows[0] % p.clock == 0 and memory.width[0] > p.min_window:
        while parts_somewhere(p, memory):
            drop_oldest(memory)
            found = DRIFT
    return found


@fragment
def insert(error: float, memory: ADWINState) -> None:
    """Add a row as a new bucket; if a level has too many, its two oldest are merged."""
    width, whole, buckets, total, squares = memory.width, memory.whole, memory.buckets, memory.total, memory.squares
    width[0] += 1
    if width[0] > 1:
        before = width[0] - 1.0
        apart = error - whole[0] / before
        whole[1] += before * apart * apart / width[0]
    whole[0] += error
    total[0, buckets[0]], squares[0, buckets[0]] = error, 0.0
    buckets[0] += 1
    level, length, most = 0, 1.0, total.shape[1] - 1
    while buckets[level] > most and level < LEVELS - 1:
        apart = (total[level, 0] - total[level, 1]) / length
        place = buckets[level + 1]
        total[level + 1, place] = total[level, 0] + total[level, 1]
        squares[level + 1, place] = squares[level, 0] + squares[level, 1] + 0.5 * length * apart * apart
        buckets[level + 1] += 1
        take_away(level, 2, memory)
        level += 1
        length *= 2.0
    if buckets[level] > most:  # the last level, with 2^31 rows per bucket
        drop_oldest(memory)


@fragment
def take_away(level: int, n: int, memory: ADWINState) -> None:
    """Remove the n oldest buckets of a level."""
    memory.buckets[level] -= n
    for k in range(memory.buckets[level]):
        memory.total[level, k] = memory.total[level, k + n]
        memory.squares[level, k] = memory.squares[level, k + n]


@fragment
def oldest_level(memory: ADWINState) -> int:
    """Return the highest level that has buckets."""
    level = LEVELS - 1
    while level > 0 and memory.buckets[level] == 0:
        level -= 1
    return level


@fragment
def drop_oldest(memory: ADWINState) -> None:
    """Drop the oldest bucket from the window."""
    level = oldest_level(memory)
    length = float(1 << level)
    memory.width[0] -= 1 << level
    memory.whole[0] -= memory.total[level, 0]
    width = memory.width[0]
    if width > 0:
        apart = memory.total[level, 0] / length - memory.whole[0] / width
        memory.whole[1] -= memory.squares[level, 0] + length * width * apart * apart / (length + width)
    take_away(level, 1, memory)


@fragment
def parts_somewhere(p: ADWIN.Params, memory: ADWINState) -> bool:
    """Whether the means before and after some border between buckets differ significantly."""
    width = float(memory.width[0])
    L = log(2.0 * log(width) / p.delta)
    variance = max(memory.whole[1], 0.0) / width
    n_0, sum_0 = 0.0, 0.0
    level = oldest_level(memory)
    while level >= 0:
        for k in range(memory.buckets[level]):
            n_0 += float(1 << level)
            sum_0 += memory.total[level, k]
            n_1 = width - n_0
            if n_0 > p.min_sub + 1 and n_1 > p.min_sub + 1:
                m = 1.0 / (n_0 - p.min_sub + 1.0) + 1.0 / (n_1 - p.min_sub + 1.0)
                apart = abs(sum_0 / n_0 - (memory.whole[0] - sum_0) / n_1)
                if apart > math.sqrt(2.0 * m * variance * L) + 2.0 / 3.0 * m * L:
                    return True
        level -= 1
    return False
