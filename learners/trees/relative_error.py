"""Errors of targets as numbers from 0 to 1, for detectors: relative to how large errors have been."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.numeric.fading_mean import newest_share
from driftway.learners.trees.features import LARGEST

SLOW = 0.001
"""Least weight of the newest squared error in their mean."""
EARLY, FAR = 30, 100.0
"""After so many rows, a squared error counts as at most so many times the mean."""
WHOLE = 3.0
"""Root mean squares that make an error of 1."""


class ErrorScale(NamedTuple):
    """Running size of the errors."""

    rows: Counts = field("i8[1]", "errors so far")
    square: Array = field("f8[1]", "fading mean of their squares")


@fragment
def root_of(scale: ErrorScale) -> float:
    """Return the error that counts as 1."""
    return WHOLE * math.sqrt(scale.square[0])


@fragment
def relative(root: float, off: float) -> float:
    """Return an error as a share of the one that counts as 1, and at most that."""
    size = min(abs(off), 2.0 * LARGEST)
    return min(size / root, 1.0) if root > 0.0 else (1.0 if size > 0.0 else 0.0)


@kernel
def count_error(scale: ErrorScale, off: float) -> None:
    """Add an error to the mean."""
    size = min(abs(off), 2.0 * LARGEST)
    scale.rows[0] += 1
    square = size * size
    if scale.rows[0] > EARLY and scale.square[0] > 0.0:
        square = min(square, FAR * scale.square[0])
    scale.square[0] += (square - scale.square[0]) * newest_share(scale.rows[0], SLOW)
