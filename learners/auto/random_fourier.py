"""Random Fourier features: a linear expert on them has curved decision boundaries.

Their inner products approximate Gaussian kernels of four widths, exp(-gamma |x - z|^2) with gamma from 0.5 / n to
4 / n. Rahimi and Recht, NIPS 2007. docs/algorithms/kernel_methods.md#fogd.
"""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import Array, field, fragment, kernel, scratch
from driftway.learners.numeric.random import Words, normal, seed, uniform
from driftway.learners.numeric.vectors import add_multiples

WAVES = 128
WIDEST = 0.5
"""n gamma of the widest kernel; the waves cycle through it and 1, 2 and 4."""


class FourierFeatures(NamedTuple):
    """Frequencies and phases, in turns, fixed once drawn."""

    frequency: Array = field("f8[n, D]", "turns per unit of a feature")
    phase: Array = field("f8[D]", "turns at 0")
    weight: Array = field("f8[V, D]", "weights of the experts on the waves, 4 C rows")
    wave: Array = scratch("f8[D]", "cosines of the row")


@kernel
def draw(value: np.uint64, frequency: Array, phase: Array, generator: Words) -> None:
    """Draw all frequencies and phases. Shapes: frequency f8[n, D], phase f8[D], generator u8[4] scratch."""
    seed(generator, value)
    n = frequency.shape[0]
    for i in range(phase.shape[0]):
        gamma = WIDEST * float(1 << (i % 4)) / n
        phase[i] = uniform(generator)
        for j in range(n):
            frequency[j, i] = math.sqrt(2.0 * gamma) / (2.0 * math.pi) * normal(generator)


@kernel
def transform(waves: FourierFeatures, x: Array) -> None:
    """Write the cosines of a row. Shapes: x f8[n or more]."""
    wave, phase = waves.wave, waves.phase
    for i in range(wave.shape[0]):
        wave[i] = phase[i]
    add_multiples(wave, waves.frequency, x)
    for i in range(wave.shape[0]):
        wave[i] = cosine(wave[i])


@fragment
def cosine(turns: float) -> float:
    """cos(2 pi turns) with an error below 1e-5, without a table or branch so that it vectorizes.

    Computed as sin(2 pi z), with z the distance from a quarter turn, by a series for |z| <= 1/4.
    """
    z = 0.25 - abs(turns - np.floor(turns + 0.5))
    a = z * z
    return z * (6.283185307 + a * (-41.341702240 + a * (81.605249277 + a * (-76.705859753 + a * 42.058693945))))
