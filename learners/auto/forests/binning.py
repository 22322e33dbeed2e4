"""The bin of a feature: a whole number, by which trees compare features and count rows.

If the bulk of a feature's values is close together, half of the bins follow it (`learners/auto/bulk.py`).
"""

from driftway.learners.auto.bulk import NARROW, Bulk, position
from driftway.learners.contract import Array, fragment, kernel


@fragment
def bin_of(u: float, offset: float, count: int) -> int:
    """Return the bin, 0 .. count - 1, of a position from -1 to 1, by `offset` bins further."""
    return min(max(int((0.5 + 0.5 * u) * count + offset), 0), count - 1)


@kernel
def quantize(bulk: Bulk, z: Array, bins: Array, count: int) -> None:
    """Write each feature's bin, 0 .. count - 1, finer near 0 than far from it, and finer in a narrow bulk.

    Shapes: z f8[n or more], bins f8[n].
    """
    for j in range(bins.shape[0]):
        u, offset = position(z[j], 1.0), 0.0
        if bulk.spread[j] < NARROW:
            # Half a bin further, so that a value in the middle that is repeated stays in one bin.
            u, offset = 0.5 * (u + position(z[j] - bulk.middle[j], bulk.spread[j])), 0.5
        bins[j] = bin_of(u, offset, count)
