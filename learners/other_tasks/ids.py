"""Ids that stand among the columns of a row, as whole numbers."""

import math

from driftway.learners.contract import fragment


@fragment
def place_of(value: float, count: int) -> int:
    """Which of the places 0..count - 1 a value names; -1 if it is not whole, or none of them."""
    if 0.0 <= value < count and value == math.floor(value):
        return int(value)
    return -1
