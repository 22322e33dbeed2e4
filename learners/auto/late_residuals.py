"""How much a late label counts in a mixture: less, the more alike the residuals of successive rows are.

The mixtures treat labels as independent. Where labels come late they are not: whatever the experts did not know, they
did not know for all rows of the delay, and their errors in these rows are one piece of news, not hundreds.
"""

from typing import NamedTuple

from driftway.learners.contract import Array, field, kernel, scratch

FADING = 0.998
"""Decay per row of the two means."""
LARGEST = 0.998
"""Largest correlation: a thousand rows then count as one."""


class LateResiduals(NamedTuple):
    """Memory of the residuals of rows whose labels came late; r = K for classes, 1 for targets."""

    last: Array = field("f8[r]", "those of the last such row")
    product: Array = field("f8[1]", "fading mean of the products of successive residuals, summed over the classes")
    square: Array = field("f8[1]", "the same of their squares")
    now: Array = scratch("f8[r]", "those of the current row")


@kernel
def correlation(residuals: LateResiduals) -> float:
    """Count the residuals in `now`; return the correlation of successive rows' residuals, or 0 if it is negative."""
    now, last = residuals.now, residuals.last
    product, square = 0.0, 0.0
    for c in range(now.shape[0]):
        product += now[c] * last[c]
        square += now[c] * now[c]
        last[c] = now[c]
    residuals.product[0] += (1.0 - FADING) * (product - residuals.product[0])
    residuals.square[0] += (1.0 - FADING) * (square - residuals.square[0])
    if residuals.product[0] <= 0.0:
        return 0.0
    return min(residuals.product[0] / residuals.square[0], LARGEST)
