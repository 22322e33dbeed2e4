"""Fourier online gradient descent: a linear learner on random waves that approximate the Gaussian kernel."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.engine.jit import kernel
from driftway.learners.kernel_methods.bandwidth import SAMPLE, first_gamma, gamma, gamma_of, measure, width_of_rows
from driftway.learners.numeric.elementary.trigonometric import cos, sin
from driftway.learners.numeric.random import Words, normal, seed
from driftway.learners.numeric.vectors import axpy_guarded, dot

SETTLED = 64
"""Labelled rows before those that set the width: until then an outlier can still spoil the standardiser."""


class FOGD(Learner):
    """Descends on the hinge loss of a linear function of 2 D random waves, which stands for a kernel on all rows.

    z = [sin(U x), cos(U x)] / sqrt(D) with rows of U drawn from N(0, 2 gamma I), so that z.z' is about
    exp(-gamma |x - x'|^2); s = w.z and w <- w + eta y z on y s < 1. No row is stored, so none has to be evicted.

    Cost
    ----
    O(D d), with 2 D sines; 8 D (d + 2) + 256 d + 24 bytes.

    Source
    ------
    Lu, Hoi, Wang, Zhao and Liu, JMLR 17, 2016, FOGD; Huang, Online Learning, "Kernel approximation".
    docs/algorithms/kernel_methods.md#fogd. If the width is automatic, rows 65 to 96 set it and the weights then
    start from 0, since the waves have changed.
    """

    name = "fogd"
    tasks = ("binary",)

    class Params(Parameters):
        D: int = integer(100, "Number of frequencies, each with a sine and a cosine.", at_least=1, at_most=10000)
        eta: float = number(0.1, "Step size.", above=0.0)
        gamma: float = gamma()
        width: str = width_of_rows()
        seed: int = integer(1, "Seed of the frequencies.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(
            score, learn, FOGDNumbers(p.eta, *first_gamma(p, self.n_features)[:2]), FOGDState, {"D": p.D, "F": SAMPLE}
        )

    def initialise(self) -> None:
        p, s = self.parameters, self.state
        generator = np.zeros(4, np.uint64)
        seed(generator, np.uint64(p.seed))
        draw(s["frequency"], generator)


class FOGDNumbers(NamedTuple):
    """Parameters of `fogd`."""

    eta: float
    gamma: float
    """Given or initial value."""
    by_median: bool
    """Whether gamma follows from the first rows."""


class FOGDState(NamedTuple):
    """State of `fogd`."""

    frequency: Array = field("f8[D, d]", "U for 2 gamma = 1")
    weight: Array = field("f8[2 D]", "of the sines, then of the cosines")
    gamma: Array = field("f8[1]", "where it has followed from rows; else 0")
    first: Array = field("f8[d, F]", "features of the rows from which it follows, number 65 to 96")
    noted: Counts = field("i8[1]", "labelled rows seen, up to that")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    distances: Array = scratch("f8[496]", "squared distances between these rows")
    wave: Array = scratch("f8[2 D]", "z of the row")


@kernel
def draw(frequency: Array, generator: Words) -> None:
    """Draw the frequencies, row by row. Shapes: frequency f8[D, d], generator u8[4]."""
    for i in range(frequency.shape[0]):
        for j in range(frequency.shape[1]):
            frequency[i, j] = normal(generator)


@fragment
def score(x: Array, p: FOGDNumbers, memory: FOGDState) -> float:
    """The score w.z; leaves z in `wave`. Shapes: x f8[d]."""
    D, wave = memory.frequency.shape[0], memory.wave
    root, share = math.sqrt(2.0 * gamma_of(p.gamma, memory.gamma)), 1.0 / math.sqrt(float(D))
    for i in range(D):
        angle = root * dot(memory.frequency[i], x)
        wave[i] = share * sin(angle)
        wave[D + i] = share * cos(angle)
    return dot(memory.weight, wave)


@fragment
def learn(x: Array, y: float, _omega: float, s: float, p: FOGDNumbers, memory: FOGDState) -> None:
    """Step along the waves if the margin is below 1. Shapes: x f8[d]."""
    if not math.isfinite(s):
        memory.skipped[0] += 1
        return
    if y * s < 1.0:
        axpy_guarded(memory.weight, memory.wave, p.eta * y)
    seen, last = memory.noted[0], SETTLED + memory.first.shape[1] - 1
    if p.by_median and seen <= last:
        n = max(seen - SETTLED, 0)  # rows before that overwrite the first place
        for j in range(x.shape[0]):
            memory.first[j, n] = x[j]
        memory.noted[0] = seen + 1
        if seen == last and measure(memory.first, n + 1, 1.0, p.gamma, memory.gamma, memory.distances):
            for i in range(memory.weight.shape[0]):
                memory.weight[i] = 0.0
