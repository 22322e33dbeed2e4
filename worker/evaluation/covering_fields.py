"""What a row's line of scores says of its interval or set."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.conformal import classes_of, ends_of
from driftway.worker.wire.events import REGRESSION, Target

Array = NDArray[np.float64]


def covering_fields(
    target: Target, coverage: float | None, score: Array, threshold: Array
) -> Callable[[int], dict[str, Any]]:
    """Return row of a block -> ``low`` and ``high``, None without end, or ``set``: indices of classes.

    Parameters
    ----------
    target : Target
        What is predicted.
    coverage : float or None
        The level; None: rows have no fields.
    score : f8[n, k]
        The block's scores.
    threshold : f8[n]
        Its thresholds.
    """
    if coverage is None:
        return lambda _: {}
    if target.task == REGRESSION:
        low, high = (end.tolist() for end in ends_of(score, threshold))
        return lambda i: {"low": finite_or_none(low[i]), "high": finite_or_none(high[i])}
    member = classes_of(score, threshold, target.n_classes)
    return lambda i: {"set": np.flatnonzero(member[i]).tolist()}


def finite_or_none(x: float) -> float | None:
    """The number as JSON has it: null for an end that an interval does not have."""
    return x if math.isfinite(x) else None
