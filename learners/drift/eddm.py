"""The early drift detection method (EDDM)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, ParameterError, Parameters, field, fragment, integer, number
from driftway.learners.drift.detector import DRIFT, QUIET, WARNING, Detector, DetectorRule

FIRST_ROWS = 30
"""Rows before the distances are tested."""


class EDDM(Detector):
    """Signals a drift when the distance between errors falls clearly below its maximum.

    For slow changes, which DDM takes for noise. Has false alarms on noisy streams: in 1,000 rows with an error rate of
    1/5 it signals four drifts with its published levels, with drift = 0.8 one, and detects a change after 120 rows.

    With m and s the mean and deviation of the distance between errors since the last drift, v = m + 2 s is compared to
    its maximum; v / v_max < warn is a warning, < drift a drift.

    Cost
    ----
    O(1) per row; 48 bytes.

    Source
    ------
    Baena-Garcia, del Campo-Avila, Fidalgo, Bifet, Gavalda and Morales-Bueno, 2006.
    docs/algorithms/drift.md#drift-detectors.
    """

    name = "eddm"
    binary = True

    class Params(Parameters):
        warn: float = number(0.95, "Share of the largest distance below which a warning begins.", above=0.0, below=1.0)
        drift: float = number(0.9, "And below which it is a drift, at most warn.", above=0.0, below=1.0)
        min_errors: int = integer(30, "Errors before any alarm.", at_least=1)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.drift > self.warn:
                raise ParameterError(f"drift must be <= warn = {self.warn:g}, got {self.drift}")

    def rule(self) -> DetectorRule:
        return DetectorRule(detect, self.parameters.numbers(), EDDMState)


class EDDMState(NamedTuple):
    """State of `eddm`."""

    rows: Counts = field("i8[1]", "rows since the last drift")
    errors: Counts = field("i8[1]", "how many were wrong")
    last: Counts = field("i8[1]", "number of the last one that was; 0 = none")
    mean: Array = field("f8[1]", "mean distance of an error from the one before")
    squares: Array = field("f8[1]", "sum of squared deviations from it")
    largest: Array = field("f8[1]", "largest mean and two deviations; 0 = not looked at yet")


@fragment
def detect(error: float, p: EDDM.Params, memory: EDDMState) -> int:
    """Add a row: 1 for a mistake, 0 for a hit. docs/algorithms/drift.md#drift-detectors."""
    memory.rows[0] += 1
    if error != 1.0:
        return QUIET
    memory.errors[0] += 1
    distance = float(memory.rows[0] - memory.last[0])
    memory.last[0] = memory.rows[0]
    delta = distance - memory.mean[0]
    memory.mean[0] += delta / memory.errors[0]
    memory.squares[0] += delta * (distance - memory.mean[0])
    if memory.rows[0] <= FIRST_ROWS:
        return QUIET
    v = memory.mean[0] + 2.0 * math.sqrt(memory.squares[0] / memory.errors[0])
    if v > memory.largest[0]:
        memory.largest[0] = v
        return QUIET
    share = v / memory.largest[0]
    if memory.errors[0] <= p.min_errors or share >= p.warn:
        return QUIET
    if share >= p.drift:
        return WARNING
    memory.rows[0], memory.errors[0], memory.last[0] = 0, 0, 0
    memory.mean[0], memory.squares[0], memory.largest[0] = 0.0, 0.0, 0.0
    return DRIFT
