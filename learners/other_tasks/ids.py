"""Ids given as whole numbers in columns of a row."""

import math

from driftway.learners.contract import fragment


@fragment
def index_of(value: float, count: int) -> int:
    """Index in 0..count - 1 given by a value, or -1 if it is not a whole number or out of range."""
    if 0.0 <= value < count and value == math.floor(value):
        return int(value)
    return -1
