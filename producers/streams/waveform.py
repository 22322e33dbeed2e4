"""Three classes of waveforms, each a random mixture of two of three triangles with normal noise at every point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal, randint, uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array
from driftway.worker.errors import UsageFailure

POINTS = 21
TRIANGLES = np.array([[max(6.0 - abs(point - peak), 0.0) for point in range(POINTS)] for peak in (6, 14, 10)])
"""Height of each triangle at each point, in the order of MOA; the book's h3, h2, h1."""


@kernel
def informative_part(attribute: float) -> float:
    """The attribute if it is informative, else 0: points 0 and 20 lie outside all triangles, like irrelevant ones."""
    return attribute if attribute < POINTS - 1 else 0.0


@kernel
def swap_attributes(rng: NDArray[np.uint64], swaps: int, standing: Array) -> None:
    """Reset every attribute to its own place and exchange `swaps` pairs, repeated until the concept differs.

    Shapes: rng u8[4], standing f8[2 d]: the attribute in each place, then scratch. A try draws two places and
    exchanges their attributes, then those of the two places after them, and so on, wrapping around. Without swaps
    nothing is drawn.
    """
    d = standing.shape[0] // 2
    for j in range(d):
        standing[d + j] = standing[j]
    changed = False
    while not changed:
        for j in range(d):
            standing[j] = float(j)
        if swaps == 0:
            return
        first, second = randint(rng, d), randint(rng, d)
        for k in range(swaps):
            one, other = (first + k) % d, (second + k) % d
            kept = standing[one]
            standing[one] = standing[other]
            standing[other] = kept
        for j in range(d):
            changed |= informative_part(standing[j]) != informative_part(standing[d + j])


@kernel
def draw_row(rng: NDArray[np.uint64], triangles: Array, standing: Array, X: Array, i: int) -> float:
    """Write row i and return its class; draw order: the class, the share u, then a normal per place.

    Shapes: rng u8[4], triangles f8[3, 21], standing f8[d] or longer, X f8[n, d]. Classes 0, 1, 2 mix the triangles
    0 and 1, 0 and 2, 1 and 2.
    """
    label = randint(rng, 3)
    one, other = 1 if label == 2 else 0, 1 if label == 0 else 2
    u = uniform(rng)
    for j in range(X.shape[1]):
        X[i, j] = normal(rng)
        point = int(standing[j])
        if point < POINTS:
            X[i, j] += u * triangles[one, point] + (1.0 - u) * triangles[other, point]
    return float(label)


@kernel
def fill_waveform(
    rng: NDArray[np.uint64],
    triangles: Array,
    standing: Array,
    swaps: NDArray[np.int64],
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; a stage's first row draws the swaps before its own features.

    Shapes: rng u8[4], triangles f8[3, 21], standing f8[2 d] (kept between blocks), swaps i8[stages], X f8[n, d],
    y f8[n].
    """
    stages = swaps.shape[0]
    for i in range(X.shape[0]):
        t = start + i
        stage = stages * t // length
        if t == 0 or stage != stages * (t - 1) // length:
            swap_attributes(rng, swaps[stage], standing)
        y[i] = draw_row(rng, triangles, standing, X, i)


@kernel
def sample_waveform(rng: NDArray[np.uint64], triangles: Array, standing: Array, X: Array, y: Array) -> None:
    """Write rows of one concept. Shapes: rng u8[4], triangles f8[3, 21], standing f8[2 d], X f8[n, d], y f8[n]."""
    for i in range(X.shape[0]):
        y[i] = draw_row(rng, triangles, standing, X, i)


def _fill(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    fill_waveform(rng, TRIANGLES, memory, np.array(values["swaps"]), values["rows"], start, X, y)


def _sample(_values: Values, rng: NDArray[np.uint64], memory: Array, _row: int, X: Array, y: Array) -> None:
    sample_waveform(rng, TRIANGLES, memory, X, y)


def _shape(values: Values) -> tuple[int, int]:
    width, most = POINTS + values["irrelevant"], max(values["swaps"])
    if most > width:
        raise UsageFailure(f"waveform: swaps must be at most the {width} features, got {most}")
    return width, len(values["swaps"])


RECIPE = GeneratorSpec(
    name="waveform",
    summary="Waveform: 21 points of u times one triangle plus 1 - u times another, u uniform in [0, 1], each point "
    "with N(0, 1); the pair of triangles is the class; `irrelevant` further features are only N(0, 1) (19 give the 40 "
    "of the book). In every stage different features have swapped places. 3 classes.",
    source="Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, section 2.6.2; order of "
    "classes as MOA and River, drift after WaveformGeneratorDrift of MOA, which may show an attribute twice and lose "
    "another: here two really change places, and places are drawn again where the concept would stay the same",
    options=(
        option("rows", 40_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("irrelevant", 0, "integer", low=0, high=10_000, meaning="features without a waveform; 19 give 40"),
        option("swaps", (0, 5, 10, 10), "integers", low=0, meaning="number of swapped pairs, one per stage"),
    ),
    shape=_shape,
    memory=lambda values: 2 * (POINTS + values["irrelevant"]),
    classes=lambda _: 3,
    fill=_fill,
    sample=_sample,
)
