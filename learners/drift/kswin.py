"""Kolmogorov-Smirnov windowing (KSWIN)."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    ParameterError,
    Parameters,
    field,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.drift.detector import DRIFT, QUIET, Detector, DetectorRule
from driftway.learners.numeric.random import Words, randint, seed

LEAST_DISTANCE = 0.1
"""Minimum distance of two distributions for a drift, however significant a smaller one may be."""


class KSWIN(Detector):
    """Signals a drift when the newest errors have another distribution than a sample of the older ones in a window.

    Accepts losses of any size, whose distribution may change even if their mean does not; on mistakes it is a test of
    two proportions. It tests at every row. There are no warnings.

    The newest `stat` of the last `window` rows are compared with as many drawn from the others by the largest distance
    of their distribution functions (Kolmogorov and Smirnov); a drift is a distance whose probability is at most alpha.
    The window then restarts with the newest rows.

    Cost
    ----
    O(stat^2) per row; 8 window + 48 bytes.

    Source
    ------
    Raab, Heusinger and Schleif, Neurocomputing 416, 2020. Differs: the defaults (the usual 0.005, 100, 30 do not detect
    a rise of mistakes from 0.2 to 0.5 within 500 rows); a drift does not reset the generator.
    """

    name = "kswin"

    class Params(Parameters):
        alpha: float = number(0.0001, "Probability of a distance that is a drift.", above=0.0, below=1.0)
        window: int = integer(300, "Rows of the window.", at_least=2, at_most=100_000)
        stat: int = integer(100, "Rows that are compared, at most half of the window.", at_least=1, at_most=1000)
        seed: int = integer(1, "Of the draws.", at_least=0, at_most=2**53)

        def __post_init__(self) -> None:
            super().__post_init__()
            if 2 * self.stat > self.window:
                raise ParameterError(f"stat must be <= window / 2 = {self.window / 2:g}, got {self.stat}")

    def rule(self) -> DetectorRule:
        p = self.parameters
        given = KSWINNumbers(p.window, p.stat, steps_apart(p.stat, p.alpha))
        return DetectorRule(detect, given, KSWINState, {"window": p.window, "older": p.window - p.stat, "stat": p.stat})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


def steps_apart(n: int, alpha: float) -> int:
    """Return the smallest k for which a distance k / n of two samples of n has a probability of at most alpha.

    Exact: counts the paths of n steps up and n down that reach a distance of k from the start.
    """
    for k in range(1, n + 1):
        far = 2 * sum(math.comb(2 * n, n - j * k) * (1 if j % 2 else -1) for j in range(1, n // k + 1))
        if far <= alpha * math.comb(2 * n, n) and k > LEAST_DISTANCE * n:
            return k
    return n + 1


class KSWINNumbers(NamedTuple):
    """Parameters of `kswin`."""

    window: int
    stat: int
    far: int
    """Number of steps between the two distribution functions from which on it is a drift."""


class KSWINState(NamedTuple):
    """State of `kswin`."""

    rows: Counts = field("i8[1]", "rows in the window", largest="window")
    ring: Array = field("f8[window]", "their errors, the oldest first")
    generator: Words = field("u8[4]", "of the random numbers")
    older: Array = scratch("f8[older]", "the rows that are drawn from")
    drawn: Array = scratch("f8[stat]", "those drawn, sorted")
    newest: Array = scratch("f8[stat]", "the newest, sorted")


@fragment
def detect(error: float, p: KSWINNumbers, memory: KSWINState) -> int:
    """Add an error or a loss; non-finite ones are skipped."""
    rows, ring = memory.rows, memory.ring
    if error - error != 0.0:  # inf - inf and nan - nan are nan
        return QUIET
    if rows[0] == p.window:
        for i in range(p.window - 1):
            ring[i] = ring[i + 1]
        rows[0] -= 1
    ring[rows[0]] = error
    rows[0] += 1
    if rows[0] < p.window:
        return QUIET
    draw(p, memory)
    for i in range(p.stat):
        memory.newest[i] = ring[p.window - p.stat + i]
    sort(memory.drawn)
    sort(memory.newest)
    if distance(memory.drawn, memory.newest) < p.far:
        return QUIET
    for i in range(p.stat):
        ring[i] = ring[p.window - p.stat + i]
    rows[0] = p.stat
    return DRIFT


@fragment
def draw(p: KSWINNumbers, memory: KSWINState) -> None:
    """Draw from the older rows without replacement."""
    n = p.window - p.stat
    for i in range(n):
        memory.older[i] = memory.ring[i]
    for i in range(p.stat):
        k = i + randint(memory.generator, n - i)
        memory.drawn[i] = memory.older[k]
        memory.older[k] = memory.older[i]


@fragment
def sort(values: Array) -> None:
    """Insertion sort, for few values. Shapes: values f8[stat]."""
    for i in range(1, values.shape[0]):
        value, place = values[i], i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@fragment
def distance(a: Array, b: Array) -> int:
    """Largest difference over all v between the counts of values <= v. Shapes: a f8[n], b f8[n], both sorted."""
    n, i, j, most = a.shape[0], 0, 0, 0
    while i < n and j < n:
        value = min(a[i], b[j])
        while i < n and a[i] <= value:
            i += 1
        while j < n and b[j] <= value:
            j += 1
        most = max(most, abs(i - j))
    return most
