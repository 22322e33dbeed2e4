"""What accuracy points of several partitions together say about a challenger."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any


def is_tested(point: Mapping[str, Any]) -> bool:
    """Whether a point is a challenger's, with a test."""
    return "better_log_e" in point


def mean_e_value(points: Iterable[Mapping[str, Any]], side: str, partitions: int) -> float:
    """Return the mean of a side's present e-values; a partition without a point adds nothing.

    It is an e-value of all partitions together, however their rows depend on each other: see docs/decisions/0050.

    Parameters
    ----------
    points : iterable of mapping
        The newest point of a challenger in each partition.
    side : str
        One of `driftway.learners.metrics.e_process.SIDES`.
    partitions : int
        Number of partitions, >= 1.
    """
    return math.fsum(math.exp(point[f"{side}_log_e"]) for point in points) / partitions
