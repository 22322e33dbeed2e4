"""A Gaussian kernel's width that sets itself: by the median of the distances between stored rows.

It follows the rows that are stored: where these are let go and others come, as on a stream that drifts, so does it; a
learner that lets none go keeps the width of the first. Until there are enough it is that of 1 / d, which suits scaled
features.
"""

import math
from typing import Any

from learners.contract import Array, bare_kernel, choice, fragment, number

SAMPLE = 32
"""Stored rows whose distances are taken, at even spaces among the slots."""
STEEPNESS = 2.0
"""gamma times the median of their squared distances."""
CHANGE = 1.25
"""A width within this factor of the one in use changes nothing."""


def gamma() -> Any:
    """The parameter of a width that is given."""
    text = "Of the Gaussian kernel, in units of 1 / a squared feature; 0: as `width`."
    return number(0.0, text, at_least=0.0)


def width() -> Any:
    """The parameter that says how one that is not given is found."""
    text = (
        "Where gamma is 0. `median`: 2 / the median of the squared distances between stored rows, set at 32 of them "
        "and each time that as many as there are slots have been stored; or `dimension`: 1 / the number of features."
    )
    return choice("median", ("median", "dimension"), text)


def first_gamma(parameters: Any, n_features: int) -> tuple[float, bool]:
    """The width as given, or what it begins as; and whether it follows from rows."""
    p = parameters
    return p.gamma or 1.0 / n_features, p.gamma == 0.0 and p.width == "median"


@fragment
def gamma_of(given: float, found: Array) -> float:
    """The width in use; `found` holds 0 until one has followed from rows. Shapes: found f8[1]."""
    return float(found[0] if found[0] > 0.0 else given)


@bare_kernel
def measure(column: Array, n: int, now: float, gamma: Array, distances: Array) -> bool:
    """Set gamma by n stored rows, unless it is about as it is now; say whether it has changed.

    Shapes: column f8[d, B], gamma f8[1], distances f8[496] scratch.
    """
    m = min(n, SAMPLE)
    count = 0
    for i in range(m):
        for k in range(i):
            one, other = i * n // m, k * n // m
            squared = 0.0
            for j in range(column.shape[0]):
                squared += (column[j, one] - column[j, other]) * (column[j, one] - column[j, other])
            place = count
            while place > 0 and distances[place - 1] > squared:
                distances[place] = distances[place - 1]
                place -= 1
            distances[place] = squared
            count += 1
    found = STEEPNESS / distances[count // 2]
    if not 0.0 < found < math.inf or now / CHANGE <= found <= now * CHANGE:
        return False
    gamma[0] = found
    return True
