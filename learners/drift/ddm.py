"""The drift detection method (DDM)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, ParameterError, Parameters, field, fragment, integer, number
from driftway.learners.drift.detector import DRIFT, QUIET, WARNING, Detector, DetectorRule


class DDM(Detector):
    """Signals a drift when the error rate exceeds its minimum by three standard deviations.

    For sudden changes, which it detects within some hundred rows; it takes slow ones for noise. After many good rows it
    reacts late.

    With p the error rate of the n rows since the last drift and s = sqrt(p (1 - p) / n), the smallest p + s is stored
    as p_min + s_min; a warning starts above p_min + warn s_min, a drift is above p_min + drift s_min.

    Cost
    ----
    O(1) per row; 32 bytes.

    Source
    ------
    Gama, Medas, Castillo and Rodrigues, SBIA 2004. docs/algorithms/drift.md#drift-detectors. Differs: a rate of 0 is
    not a minimum, since its deviation is 0 and the very first error would be an alarm.
    """

    name = "ddm"
    binary = True

    class Params(Parameters):
        min_n: int = integer(30, "Rows before a minimum is kept: the rate of fewer is no normal variable.", at_least=1)
        warn: float = number(2.0, "Deviations above the minimum at which a warning begins.", above=0.0)
        drift: float = number(3.0, "And at which it is a drift, at least warn.", above=0.0)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.drift < self.warn:
                raise ParameterError(f"drift must be >= warn = {self.warn:g}, got {self.drift}")

    def rule(self) -> DetectorRule:
        return DetectorRule(detect, self.parameters.numbers(), DDMState)


class DDMState(NamedTuple):
    """State of `ddm`."""

    rows: Counts = field("i8[1]", "rows since the last drift")
    rate: Array = field("f8[1]", "their error rate")
    least: Array = field("f8[2]", "rate and deviation where their sum was least; 0 = nowhere yet")


@fragment
def detect(error: float, p: DDM.Params, memory: DDMState) -> int:
    """Add a row: 1 for a mistake, 0 for a hit. docs/algorithms/drift.md#drift-detectors."""
    rows, rate, least = memory
    rows[0] += 1
    n = rows[0]
    rate[0] += (error - rate[0]) / n
    share = rate[0]
    # Rounding may put a rate of 1 one ulp above it.
    deviation = math.sqrt(max(share * (1.0 - share), 0.0) / n)
    if n < p.min_n:
        return QUIET
    if share > 0.0 and (least[0] == 0.0 or share + deviation <= least[0] + least[1]):
        least[0] = share
        least[1] = deviation
    if least[0] == 0.0:
        return QUIET
    if share + deviation > least[0] + p.drift * least[1]:
        rows[0] = 0
        rate[0] = 0.0
        least[0] = 0.0
        least[1] = 0.0
        return DRIFT
    return WARNING if share + deviation > least[0] + p.warn * least[1] else QUIET
