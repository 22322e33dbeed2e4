"""A hyperplane through the middle of the unit cube, drawn again in every stage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal, uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array


@kernel
def draw_row(rng: NDArray[np.uint64], weight: Array, noise: float, X: Array, i: int) -> float:
    """Write row i and return its label: 1 iff a.x >= sum(a)/2, both sums from the first feature on.

    Shapes: rng u8[4], weight f8[d] or longer, X f8[n, d]. Draw order: x1..xd, then the noise, even if it is 0.
    """
    score, total = 0.0, 0.0
    for j in range(X.shape[1]):
        X[i, j] = uniform(rng)
        score += weight[j] * X[i, j]
        total += weight[j]
    label = 1.0 if score >= 0.5 * total else 0.0
    return 1.0 - label if uniform(rng) < noise else label


@kernel
def fill_hyperplane(
    rng: NDArray[np.uint64],
    weight: Array,
    stages: int,
    noise: float,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; a stage's first row draws the weights before its own features.

    Shapes: rng u8[4], weight f8[d] (kept between blocks), X f8[n, d], y f8[n].
    docs/algorithms/streams.md#hyperplane_staged.
    """
    for i in range(X.shape[0]):
        t = start + i
        if t == 0 or stages * t // length != stages * (t - 1) // length:
            for j in range(X.shape[1]):
                weight[j] = normal(rng)
        y[i] = draw_row(rng, weight, noise, X, i)


@kernel
def sample_hyperplane(rng: NDArray[np.uint64], weight: Array, noise: float, X: Array, y: Array) -> None:
    """Write rows of one concept. Shapes: rng u8[4], weight f8[d] or longer, X f8[n, d], y f8[n]."""
    for i in range(X.shape[0]):
        y[i] = draw_row(rng, weight, noise, X, i)


def _fill(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    fill_hyperplane(rng, memory, values["stages"], values["noise"], values["rows"], start, X, y)


def sample(values: Values, rng: NDArray[np.uint64], memory: Array, _row: int, X: Array, y: Array) -> None:
    """`GeneratorSpec.sample` for the weights in memory f8[d] or longer; used by both hyperplanes."""
    sample_hyperplane(rng, memory, values["noise"], X, y)


RECIPE = GeneratorSpec(
    name="hyperplane_staged",
    summary="Hyperplane in [0, 1]^d with fresh normal weights in each stage; class 1 iff a.x >= sum(a)/2.",
    source="Zhao and Zhou, Distribution-Free One-Pass Learning, after Fan, KDD 2004; weights, stage length "
    "and noise as docs/algorithms/streams.md#hyperplane_staged",
    options=(
        option("rows", 90_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("d", 10, "integer", low=1, high=100_000, meaning="number of features"),
        option("stages", 9, "integer", low=1, meaning="number of concepts, one after another"),
        option("noise", 0.05, "number", low=0, high=1, meaning="share of labels that are flipped"),
    ),
    shape=lambda values: (values["d"], values["stages"]),
    fill=_fill,
    sample=sample,
    label_noise="noise",
)
