"""How far anything may be off: no row can throw an expert further, and no sum can overflow."""

from driftway.learners.contract import Array, fragment, kernel_without_refcounts

FURTHEST = 6.0
"""Standard deviations of a feature; what lies beyond counts as this."""


@fragment
def bounded(value: float, most: float) -> float:
    """The number of [-most, most] that is nearest."""
    return min(max(value, -most), most)


@kernel_without_refcounts
def clip_row(x: Array, z: Array) -> None:
    """Write the row, bounded, and a constant 1 behind it. Shapes: x f8[n], z f8[n + 1]."""
    for j in range(x.shape[0]):
        z[j] = bounded(x[j], FURTHEST)
    z[x.shape[0]] = 1.0
