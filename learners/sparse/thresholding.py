"""Soft thresholding, alone and after a gradient step, which makes weights exactly zero.

Weights from index `penalised` on, where the intercept is, are never thresholded.
"""

from driftway.learners.contract import Array, fragment


@fragment
def soft_threshold(value: float, by: float) -> float:
    """`value` moved towards 0 by `by` >= 0, but not past 0."""
    return max(0.0, value - by) + min(0.0, value + by)  # one of the two is 0; both are branch-free


@fragment
def step_and_threshold(weight: Array, x: Array, step: float, by: float, penalised: int) -> bool:
    """Add step * x to `weight` and threshold it by `by`; return False, changing nothing, if an entry would overflow.

    Shapes: weight f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        moved = weight[j] + step * x[j]
        overflows |= moved - moved != 0.0  # inf - inf and nan - nan are nan
    if overflows:
        return False
    for j in range(penalised):
        weight[j] = soft_threshold(weight[j] + step * x[j], by)
    for j in range(penalised, x.shape[0]):
        weight[j] += step * x[j]
    return True
