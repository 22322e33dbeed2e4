"""The drift detection method (DDM): an alarm when the error rate has left its minimum by three deviations.

A detector is a fragment over state arrays that the kernel around it holds, so that a learner with a detector is one
kernel and one buffer. `FIELDS` are these arrays; all zeros is a detector that has seen nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from learners.jit import fragment
from learners.learner import Array
from learners.state import Fields

QUIET, WARNING, DRIFT = range(3)
"""What a detector says of a row."""

MIN_ROWS = 30
"""Rows before a minimum is kept: the rate of fewer is not a normal variable."""
WARN, ALARM = 2.0, 3.0
"""Deviations above the minimum at which a warning and a drift begin."""

FIELDS: Fields = {"ddm.rows": ("i8", (1,)), "ddm.rate": ("f8", (1,)), "ddm.least": ("f8", (2,))}
"""Rows since the last drift, their error rate, and rate and deviation where their sum was least (0 = nowhere yet)."""


@fragment
def ddm(
    error: float,
    min_rows: int,
    warn: float,
    alarm: float,
    rows: NDArray[np.int64],
    rate: Array,
    least: Array,
) -> int:
    """Take in whether a row was predicted wrongly (1.0 or 0.0); QUIET, WARNING or DRIFT, which begins anew.

    Shapes: rows i8[1], rate f8[1], least f8[2]. Gama, Medas, Castillo and Rodrigues, SBIA 2004; ALGORITHMS.md 17.
    A rate of 0 is no minimum: its deviation is 0, and the first error of all would be an alarm.
    """
    rows[0] += 1
    n = rows[0]
    rate[0] += (error - rate[0]) / n
    p = rate[0]
    # Rounding may leave a rate of 1 at an ulp above it.
    deviation = math.sqrt(max(p * (1.0 - p), 0.0) / n)
    if n < min_rows:
        return QUIET
    if p > 0.0 and (least[0] == 0.0 or p + deviation <= least[0] + least[1]):
        least[0] = p
        least[1] = deviation
    if least[0] == 0.0:
        return QUIET
    if p + deviation > least[0] + alarm * least[1]:
        rows[0] = 0
        rate[0] = 0.0
        least[0] = 0.0
        least[1] = 0.0
        return DRIFT
    return WARNING if p + deviation > least[0] + warn * least[1] else QUIET
