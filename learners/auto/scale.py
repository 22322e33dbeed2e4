"""Every feature on one scale, by its mean and deviation so far, and bounded: what experts of `auto` are given."""

import math
from typing import NamedTuple

from learners.contract import Array, Counts, bare_kernel, field, fragment, scratch

FURTHEST = 6.0
"""Deviations from the mean; what lies beyond counts as this, so that no row can throw an expert far off."""
LARGEST = 1e100
"""Larger features count as this: sums of their squares stay finite."""


class Scale(NamedTuple):
    """What a feature's scale is made of (Welford, Technometrics 1962), and the row on it."""

    mean: Array = field("f8[n]", "means of the features")
    squares: Array = field("f8[n]", "sums of their squared deviations from the mean")
    rows: Counts = field("i8[1]", "labelled rows so far")
    z: Array = scratch("f8[w]", "the row in deviations from the mean, and a constant 1 behind it")


@bare_kernel
def standardise(x: Array, scale: Scale) -> None:
    """Write z; 0 for a feature that has always been the same. Shapes: x f8[n]."""
    rows, z = scale.rows[0], scale.z
    for j in range(x.shape[0]):
        variance = scale.squares[j] / rows if rows > 1 else 0.0
        away = bounded(x[j], LARGEST) - scale.mean[j]
        z[j] = bounded(away / math.sqrt(variance), FURTHEST) if variance > 0.0 else 0.0
    z[x.shape[0]] = 1.0


@bare_kernel
def take_in(x: Array, scale: Scale) -> None:
    """Count a row in. Shapes: x f8[n]."""
    scale.rows[0] += 1
    for j in range(x.shape[0]):
        value = bounded(x[j], LARGEST)
        away = value - scale.mean[j]
        scale.mean[j] += away / scale.rows[0]
        scale.squares[j] += away * (value - scale.mean[j])


@fragment
def bounded(value: float, most: float) -> float:
    """The number of [-most, most] that is nearest."""
    return min(max(value, -most), most)
