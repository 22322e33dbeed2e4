"""A Gaussian kernel's width that sets itself: by the median of the distances between the first rows.

Deterministic, and the same for every learner on the same rows. Until then gamma is 1 / d, which suits scaled features.
"""

import math
from typing import Any, NamedTuple

from learners.contract import Array, Counts, bare_kernel, choice, field, number, scratch

FIRST = 32
"""Rows whose distances are taken; fewer where the budget is."""
STEEPNESS = 1.0
"""gamma times the median of their squared distances."""


def gamma() -> Any:
    """The parameter of a width that is given."""
    text = "Of the Gaussian kernel, in units of 1 / a squared feature; 0: as `width`."
    return number(0.0, text, at_least=0.0)


def width() -> Any:
    """The parameter that says how one that is not given is found."""
    text = (
        "Where gamma is 0: `median` of the squared distances of the first 32 rows, from which it follows behind them (or "
        "behind the first `budget` rows, if that is less), or `dimension`: 1 / the number of features."
    )
    return choice("median", ("median", "dimension"), text)


class Width(NamedTuple):
    """gamma, and the rows from which it follows."""

    gamma: Array = field("f8[1]", "in units of 1 / a squared feature")
    first: Array = field("f8[F, d]", "the first usable rows")
    noted: Counts = field("i8[1]", "how many there are")
    distances: Array = scratch("f8[G]", "squared distances of any two of them, F (F - 1) / 2")


def sizes_of(first: int) -> dict[str, int]:
    """F and G for so many rows."""
    return {"F": first, "G": first * (first - 1) // 2}


@bare_kernel
def note(x: Array, width: Width) -> bool:
    """Keep one of the first rows; say whether gamma has changed, which it does once or never. Shapes: x f8[d]."""
    n = width.noted[0]
    for j in range(x.shape[0]):
        width.first[n, j] = x[j]
    width.noted[0] = n + 1
    if n + 1 < width.first.shape[0]:
        return False
    gamma = STEEPNESS / median(width)
    if not 0.0 < gamma < math.inf or gamma == width.gamma[0]:
        return False
    width.gamma[0] = gamma
    return True


@bare_kernel
def median(width: Width) -> float:
    """The middle one of the squared distances in order, of an even number the upper of both."""
    distances, first = width.distances, width.first
    n = 0
    for i in range(first.shape[0]):
        for k in range(i):
            squared = 0.0
            for j in range(first.shape[1]):
                squared += (first[i, j] - first[k, j]) * (first[i, j] - first[k, j])
            place = n
            while place > 0 and distances[place - 1] > squared:
                distances[place] = distances[place - 1]
                place -= 1
            distances[place] = squared
            n += 1
    return float(distances[n // 2])
