"""Random Fourier features."""

import math

import numpy as np

from driftway.learners.contract import Array, Parameters, integer, kernel, number
from driftway.learners.numeric.elementary.trigonometric import sin_cos
from driftway.learners.numeric.random import Words, normal, seed
from driftway.learners.numeric.vectors import dot
from driftway.learners.preprocessing.feature_map import FeatureMap


class Fourier(FeatureMap):
    """Random Fourier features: 2D waves whose inner products approximate the Gaussian kernel exp(-gamma |x - z|^2).

    A linear learner behind it approximates a kernel learner, at a cost that does not grow with the number of rows.
    z(x) = [sin(U x), cos(U x)] / sqrt(D) with the entries of U drawn from N(0, 2 gamma). The error of two rows' product
    is about 1 / sqrt(2 D). Rows are mapped before any standardiser: choose gamma in their unit.

    Parameters
    ----------
    D : int
        Frequencies, D >= 1; gives 2 D features. Default 100.
    gamma : float
        Width of the kernel, gamma > 0, unit of one over a squared feature; about 1/d for features of variance 1.
        Default 0.5.
    seed : int
        Seed of the frequencies, 0 <= seed <= 2^53. Default 1.

    Cost
    ----
    O(D d) per row and 2 D sines; 8 D d bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or too many frequencies.

    Source
    ------
    Rahimi and Recht, NIPS 2007; Lu, Hoi, Wang, Zhao and Liu, JMLR 2016; Huang, Online Learning, "Kernel
    approximation". docs/algorithms/kernel_methods.md#fogd. Differs: if U x overflows, both waves are 0.
    """

    name = "fourier"

    class Params(Parameters):
        D: int = integer(100, at_least=1)
        gamma: float = number(0.5, above=0.0)
        seed: int = integer(1, at_least=0, at_most=2**53)

    def features(self) -> int:
        return 2 * int(self.parameters.D)

    def prepare(self) -> None:
        p = self.parameters
        self._frequencies = np.empty((p.D, self.n_features))
        draw_frequencies(
            np.uint64(p.seed), math.sqrt(2.0) * math.sqrt(p.gamma), self._frequencies, np.empty(4, np.uint64)
        )

    def apply(self, rows: Array, mapped: Array) -> None:
        fourier(rows, mapped, self._frequencies)


@kernel
def draw_frequencies(value: np.uint64, deviation: float, frequencies: Array, generator: Words) -> None:
    """Fill the frequencies row by row with normal numbers. Shapes: frequencies f8[D, d], generator u8[4] scratch."""
    seed(generator, value)
    for i in range(frequencies.shape[0]):
        for j in range(frequencies.shape[1]):
            frequencies[i, j] = deviation * normal(generator)


@kernel
def fourier(rows: Array, mapped: Array, frequencies: Array) -> None:
    """Write the sines, then the cosines. Shapes: rows f8[n, d], mapped f8[n, 2 D], frequencies f8[D, d]."""
    D = frequencies.shape[0]
    scale = 1.0 / math.sqrt(D)
    for t in range(rows.shape[0]):
        x, z = rows[t], mapped[t]
        for i in range(D):
            phase = dot(frequencies[i], x)
            finite = math.isfinite(phase)
            s, c = sin_cos(phase)
            z[i] = s * scale if finite else 0.0
            z[D + i] = c * scale if finite else 0.0
