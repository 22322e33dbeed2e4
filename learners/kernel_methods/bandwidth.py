"""Automatic width of a Gaussian kernel: from the median distance between stored rows, and from its errors.

The median follows the stored rows: as they are replaced, for instance on a drifting stream, it changes with them; a
learner that removes none keeps that of its first rows. Until there are enough rows, gamma is 1 / d, which suits scaled
features. The median ignores the classes and is too wide if these are small. So each row is scored with narrower kernels
as well, with the same coefficients, and one that is right more often replaces the one in use.
"""

import math
from typing import Any

from driftway.learners.contract import Array, Counts, choice, fragment, kernel, number

SAMPLE = 32
"""Stored rows whose distances are used, evenly spaced among the slots."""
STEEPNESS = 2.0
"""gamma times the median of their squared distances."""
CHANGE = 1.25
"""A new gamma within this factor of the one in use is ignored."""
FACTORS = 4
"""Number of widths tried: gamma by the median, and 4, 16 and 64 times as much."""
LEAD = 8.0
"""Lead, in rows classified correctly, that another width needs to replace the one in use."""
MEMORY = 400.0
"""Number of rows after which a row's weight has decayed to 1/e."""
BY_MEDIAN = (
    "`median`: 2 / the median of the squared distances between stored rows, set at 32 of them and each time that as "
    "many as there are slots have been stored"
)
BY_DIMENSION = "`dimension`: 1 / the number of features."
"""Help texts of the two methods that every learner of the family has."""


def gamma() -> Any:
    """The parameter for a fixed width."""
    text = "Coefficient of the Gaussian kernel, in units of 1 / a squared feature; 0: set by `width`."
    return number(0.0, text, at_least=0.0)


def width(usually: str = "prequential") -> Any:
    """The parameter for how the width is found if gamma is 0; use ``median`` if coefficients fit only one width."""
    tried = "`prequential`: the same times 1, 4, 16 or 64, the one that has been right about 8 of the last rows more"
    return choice(
        usually, ("prequential", "median", "dimension"), f"Where gamma is 0. {BY_MEDIAN}; {tried}; or {BY_DIMENSION}"
    )


def width_of_rows() -> Any:
    """As `width`, for a learner whose weights depend on the width."""
    return choice("median", ("median", "dimension"), f"Where gamma is 0. {BY_MEDIAN}; or {BY_DIMENSION}")


def first_gamma(parameters: Any, n_features: int) -> tuple[float, bool, bool]:
    """The given or initial gamma, whether it follows from the stored rows, and whether from the scores as well."""
    p = parameters
    found = p.gamma == 0.0 and p.width != "dimension"
    return p.gamma or 1.0 / n_features, found, found and p.width == "prequential"


@fragment
def gamma_of(given: float, found: Array) -> float:
    """The gamma in use; `found` is 0 until it has been computed from rows. Shapes: found f8[1]."""
    return float(found[0] if found[0] > 0.0 else given)


@kernel
def measure(column: Array, n: int, factor: float, now: float, gamma: Array, distances: Array) -> bool:
    """Set gamma from n stored rows unless it is close to the current one; return whether it was changed.

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
    found = factor * STEEPNESS / distances[count // 2]
    if not 0.0 < found < math.inf or now / CHANGE <= found <= now * CHANGE:
        return False
    gamma[0] = found
    return True


@fragment
def factor_of(tried: Counts) -> float:
    """The factor by which gamma from the median is multiplied. Shapes: tried i8[1]."""
    return float(1 << 2 * tried[0])


@fragment
def widest(near: Array, n: int, tried: int, wide: Array) -> None:
    """Compute what n kernel values would be without the factor in use. Shapes: near f8[B], wide f8[B]."""
    for i in range(n):
        wide[i] = near[i]
    for _ in range(2 * tried):
        for i in range(n):
            wide[i] = math.sqrt(wide[i])


@fragment
def power(value: float) -> float:
    """The kernel value for 4 times the gamma."""
    return (value * value) * (value * value)


@kernel
def prefer(right: Array, lead: Array, tried: Counts, gamma: Array) -> bool:
    """Record which factors were right about a row and switch to one with enough lead; return whether it switched.

    Shapes: right f8[4] of 0 and 1, lead f8[4], tried i8[1], gamma f8[1].
    """
    used, best = tried[0], tried[0]
    for r in range(FACTORS):
        lead[r] += right[r] - right[used] - lead[r] / MEMORY
        if lead[r] > max(lead[best], LEAD):
            best = r
    if best == used:
        return False
    gamma[0] *= float(1 << 2 * best) / float(1 << 2 * used)
    tried[0] = best
    for r in range(FACTORS):
        lead[r] = 0.0
    return True
