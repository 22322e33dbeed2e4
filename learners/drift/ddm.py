"""The drift detection method (DDM): an alarm when the error rate has left its minimum by three deviations.

A detector is a fragment over a memory that the kernel around it holds, so that a learner with a detector is one kernel
and one buffer: ``detect(error, parameters, memory)``. Its fields stand in the state behind its name and a dot; all
zeros is a detector that has seen nothing.
"""

import math
from typing import NamedTuple

from learners.contract import Array, Counts, field, fragment

QUIET, WARNING, DRIFT = range(3)
"""What a detector says of a row."""


class Limits(NamedTuple):
    """Parameters of `ddm`."""

    min_rows: int = 30
    """Rows before a minimum is kept: the rate of fewer is not a normal variable."""
    warn: float = 2.0
    """Deviations above the minimum at which a warning begins."""
    alarm: float = 3.0
    """And at which it is a drift."""


class Minimum(NamedTuple):
    """Memory of `ddm`."""

    rows: Counts = field("i8[1]", "rows since the last drift")
    rate: Array = field("f8[1]", "their error rate")
    least: Array = field("f8[2]", "rate and deviation where their sum was least; 0 = nowhere yet")


@fragment
def detect(error: float, p: Limits, memory: Minimum) -> int:
    """Take in whether a row was predicted wrongly (1.0 or 0.0); QUIET, WARNING or DRIFT, which begins anew.

    Gama, Medas, Castillo and Rodrigues, SBIA 2004; ALGORITHMS.md 17. A rate of 0 is no minimum: its deviation is 0, and
    the first error of all would be an alarm.
    """
    rows, rate, least = memory
    rows[0] += 1
    n = rows[0]
    rate[0] += (error - rate[0]) / n
    share = rate[0]
    # Rounding may leave a rate of 1 at an ulp above it.
    deviation = math.sqrt(max(share * (1.0 - share), 0.0) / n)
    if n < p.min_rows:
        return QUIET
    if share > 0.0 and (least[0] == 0.0 or share + deviation <= least[0] + least[1]):
        least[0] = share
        least[1] = deviation
    if least[0] == 0.0:
        return QUIET
    if share + deviation > least[0] + p.alarm * least[1]:
        rows[0] = 0
        rate[0] = 0.0
        least[0] = 0.0
        least[1] = 0.0
        return DRIFT
    return WARNING if share + deviation > least[0] + p.warn * least[1] else QUIET
