"""Bounds on features, so that no row can move an expert too far and no sum can overflow."""

from driftway.learners.contract import Array, fragment, kernel

FURTHEST = 6.0
"""Limit to which features are clipped, in standard deviations."""


@fragment
def bounded(value: float, most: float) -> float:
    """Clip `value` to [-most, most]."""
    return min(max(value, -most), most)


@kernel
def clip_row(x: Array, z: Array) -> None:
    """Write the clipped row, followed by a constant 1, to `z`. Shapes: x f8[n or more], z f8[n + 1]."""
    n = z.shape[0] - 1
    for j in range(n):
        z[j] = bounded(x[j], FURTHEST)
    z[n] = 1.0
