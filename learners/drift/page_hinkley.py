"""The Page-Hinkley test."""

from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, choice, field, fragment, integer, number
from driftway.learners.drift.detector import DRIFT, QUIET, Detector, DetectorRule

DIRECTIONS = ("up", "down", "both")
UP, DOWN, BOTH = range(3)


class PageHinkley(Detector):
    """Signals a drift when the cumulated excess of errors over their mean has risen by lam from its minimum.

    Accepts losses as well as mistakes. Slower than the others on mistakes, with few false alarms and no warnings.

    With m the mean so far: U <- alpha U + (e - m - delta), a drift if U - min U > lam; downwards
    D <- alpha D + (e - m + delta), a drift if max D - D > lam.

    Cost
    ----
    O(1) per row; 48 bytes.

    Source
    ------
    Page, Biometrika 41, 1954; Gama, Sebastiao and Rodrigues, Machine Learning 90, 2013.
    docs/algorithms/drift.md#drift-detectors.
    """

    name = "page_hinkley"

    class Params(Parameters):
        delta: float = number(0.005, "Deviation from the mean that is let pass at every row.", at_least=0.0)
        lam: float = number(50.0, "Height of the sum that is a drift. Larger = later, and fewer false ones.", above=0.0)
        alpha: float = number(0.9999, "What a row leaves of the sum.", above=0.0, at_most=1.0)
        min_n: int = integer(30, "Rows before any alarm.", at_least=1)
        direction: str = choice("up", DIRECTIONS, "Errors that grow, `up`, that shrink, `down`, or `both`.")

    def rule(self) -> DetectorRule:
        p = self.parameters
        return DetectorRule(
            detect,
            PageHinkleyNumbers(p.delta, p.lam, p.alpha, p.min_n, DIRECTIONS.index(p.direction)),
            PageHinkleyState,
        )


class PageHinkleyNumbers(NamedTuple):
    """Parameters of `page_hinkley`."""

    delta: float
    lam: float
    alpha: float
    min_n: int
    direction: int


class PageHinkleyState(NamedTuple):
    """State of `page_hinkley`."""

    rows: Counts = field("i8[1]", "rows since the last drift")
    mean: Array = field("f8[1]", "mean of their errors")
    up: Array = field("f8[2]", "U, and its least value")
    down: Array = field("f8[2]", "D, and its largest value")


@fragment
def detect(error: float, p: PageHinkleyNumbers, memory: PageHinkleyState) -> int:
    """Add an error or a loss; one that is not finite, or would make the sums so, is skipped."""
    rows, mean, up, down = memory
    moved = mean[0] + (error - mean[0]) / (rows[0] + 1.0)
    above = p.alpha * up[0] + (error - moved - p.delta)
    below = p.alpha * down[0] + (error - moved + p.delta)
    if not above - above == below - below == 0.0:  # inf - inf and nan - nan are nan
        return QUIET
    rows[0] += 1
    mean[0], up[0], down[0] = moved, above, below
    if rows[0] == 1:
        up[1], down[1] = above, below
    up[1], down[1] = min(up[1], above), max(down[1], below)
    risen = p.direction != DOWN and above - up[1] > p.lam
    fallen = p.direction != UP and down[1] - below > p.lam
    if rows[0] < p.min_n or not (risen or fallen):
        return QUIET
    rows[0] = 0
    mean[0] = 0.0
    up[:] = 0.0
    down[:] = 0.0
    return DRIFT
