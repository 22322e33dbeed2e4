"""Random radial basis functions: clouds around centroids, each of one class, some of which move."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal, randint, uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array

DEVIATION, LABEL, WEIGHT, KEPT = 0, 1, 2, 3
"""Rows of the table of centroids, and their number; weights are summed up from the first centroid on."""


@kernel
def draw_model(rng: NDArray[np.uint64], classes: int, speed: float, facts: Array, centre: Array, step: Array) -> None:
    """Draw the centroids, then the directions of the moving ones.

    Shapes: rng u8[4], facts f8[3, centroids], centre f8[centroids, d], step f8[moving, d]. Per centroid: centre of
    U[0, 1]^d, class, deviation U[0, 1], weight U[0, 1]. A direction is U[0, 1]^d scaled to length 1.
    """
    total = 0.0
    for c in range(centre.shape[0]):
        for j in range(centre.shape[1]):
            centre[c, j] = uniform(rng)
        facts[LABEL, c] = float(randint(rng, classes))
        facts[DEVIATION, c] = uniform(rng)
        total += uniform(rng)
        facts[WEIGHT, c] = total
    for c in range(step.shape[0]):
        squared = 0.0
        while squared == 0.0:
            for j in range(step.shape[1]):
                step[c, j] = uniform(rng)
                squared += step[c, j] * step[c, j]
        for j in range(step.shape[1]):
            step[c, j] *= speed / math.sqrt(squared)


@kernel
def move_centroids(centre: Array, step: Array) -> None:
    """Move flat coordinates by one step; one that would leave [0, 1] stops at the edge and reverses.

    Shapes: centre f8[m] or longer, step f8[m]. Without branches, so that it is vectorized.
    """
    for j in range(step.shape[0]):
        moved = centre[j] + step[j]
        step[j] = -step[j] if moved > 1.0 or moved < 0.0 else step[j]
        centre[j] = min(max(moved, 0.0), 1.0)


@kernel
def draw_row(rng: NDArray[np.uint64], facts: Array, centre: Array, X: Array, i: int) -> float:
    """Write row i and return its class; draw order: the centroid, the direction, the distance.

    Shapes: rng u8[4], facts f8[3, centroids], centre f8[centroids, d], X f8[n, d]. The direction is U[-1, 1]^d scaled
    to length 1, the distance normal with the centroid's deviation.
    """
    last = facts.shape[1] - 1
    drawn = uniform(rng) * facts[WEIGHT, last]
    c = 0
    while c < last and facts[WEIGHT, c] <= drawn:
        c += 1
    squared = 0.0
    while squared == 0.0:
        for j in range(X.shape[1]):
            X[i, j] = 2.0 * uniform(rng) - 1.0
            squared += X[i, j] * X[i, j]
    scale = normal(rng) * facts[DEVIATION, c] / math.sqrt(squared)
    for j in range(X.shape[1]):
        X[i, j] = centre[c, j] + scale * X[i, j]
    label: float = facts[LABEL, c]
    return label


@kernel
def fill_rbf(
    rng: NDArray[np.uint64],
    classes: int,
    speed: float,
    facts: Array,
    centre: Array,
    step: Array,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; row 0 draws the centroids, every row moves them before it is drawn.

    Shapes: rng u8[4], facts f8[3, centroids], centre f8[centroids, d], step f8[moving, d] (all three kept between
    blocks), X f8[n, d], y f8[n].
    """
    if start == 0:
        draw_model(rng, classes, speed, facts, centre, step)
    positions, steps = centre.reshape(-1), step.reshape(-1)
    for i in range(X.shape[0]):
        move_centroids(positions, steps)
        y[i] = draw_row(rng, facts, centre, X, i)


@kernel
def sample_rbf(rng: NDArray[np.uint64], facts: Array, centre: Array, X: Array, y: Array) -> None:
    """Write rows without moving the centroids.

    Shapes: rng u8[4], facts f8[3, centroids], centre f8[centroids, d], X f8[n, d], y f8[n].
    """
    for i in range(X.shape[0]):
        y[i] = draw_row(rng, facts, centre, X, i)


def _moving(values: Values) -> int:
    return min(values["moving"], values["centroids"]) if values["speed"] > 0 else 0


def _parts(values: Values, memory: Array) -> tuple[Array, Array, Array]:
    """Views of `memory`: facts f8[3, centroids], centres f8[centroids, d] and steps f8[moving, d]."""
    d, centroids = values["d"], values["centroids"]
    ends = KEPT * centroids, (KEPT + d) * centroids
    facts, centre, step = memory[: ends[0]], memory[ends[0] : ends[1]], memory[ends[1] :]
    return facts.reshape(KEPT, centroids), centre.reshape(centroids, d), step.reshape(-1, d)


def _fill(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    fill_rbf(rng, values["classes"], values["speed"], *_parts(values, memory), start, X, y)


def _sample(values: Values, rng: NDArray[np.uint64], memory: Array, _row: int, X: Array, y: Array) -> None:
    facts, centre, _ = _parts(values, memory)
    sample_rbf(rng, facts, centre, X, y)


RECIPE = GeneratorSpec(
    name="random_rbf",
    summary="Random radial basis functions: a row lies in a random direction, at a normal distance, from one of "
    "`centroids` weighted centroids, and has its class; the first `moving` ones travel through [0, 1]^d, so there is "
    "drift at every row.",
    source="RandomRBFGeneratorDrift of MOA, Bifet, Holmes, Pfahringer, Kirkby and Gavalda, New Ensemble Methods for "
    "Evolving Data Streams, KDD 2009; directions of travel are drawn on their own, MOA and River give centroids and "
    "directions the same random numbers",
    options=(
        option("rows", 50_000, "integer", low=1, meaning="length"),
        option("d", 10, "integer", low=1, high=1000, meaning="number of features"),
        option("classes", 2, "integer", low=2, high=1000, meaning="number of classes"),
        option("centroids", 50, "integer", low=1, high=10_000, meaning="number of centroids"),
        option("moving", 50, "integer", low=0, high=10_000, meaning="number of moving centroids; more means all"),
        option("speed", 0.0001, "number", low=0, high=1, meaning="distance that a moving centroid travels per row"),
    ),
    shape=lambda values: (values["d"], 1),
    memory=lambda values: (KEPT + values["d"]) * values["centroids"] + values["d"] * _moving(values),
    classes=lambda values: values["classes"],
    fill=_fill,
    sample=_sample,
)
