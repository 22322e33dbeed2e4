"""A hyperplane through the middle of the unit cube that turns a little with every row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.hyperplane_staged import draw_row, sample
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array
from driftway.worker.errors import UsageFailure


@kernel
def fill_rotating(
    rng: NDArray[np.uint64],
    weight: Array,
    sense: Array,
    mag: float,
    sigma: float,
    noise: float,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; the weights move before each one, so that its own remain for sampling.

    Shapes: rng u8[4], weight f8[d] and sense f8[k] (kept between blocks; +1 or -1), X f8[n, d], y f8[n]. Draw
    order: before row 0 the weights, before each later row one uniform per moving weight, which may reverse
    its direction after it has moved. docs/algorithms/streams.md#hyperplane_rotating.
    """
    for i in range(X.shape[0]):
        if start + i == 0:
            for j in range(weight.shape[0]):
                weight[j] = uniform(rng)
            for j in range(sense.shape[0]):
                sense[j] = 1.0
        else:
            for j in range(sense.shape[0]):
                weight[j] += sense[j] * mag
                if uniform(rng) < sigma:
                    sense[j] = -sense[j]
        y[i] = draw_row(rng, weight, noise, X, i)


def _fill(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    weight, sense = memory[: values["d"]], memory[values["d"] :]
    fill_rotating(rng, weight, sense, values["mag"], values["sigma"], values["noise"], start, X, y)


def _shape(values: Values) -> tuple[int, int]:
    if values["k"] > values["d"]:
        raise UsageFailure(f"hyperplane_rotating: k must be at most d = {values['d']}, got {values['k']}")
    return values["d"], 1


RECIPE = GeneratorSpec(
    name="hyperplane_rotating",
    summary="Hyperplane in [0, 1]^d, k of whose weights move with every row; class 1 iff a.x >= sum(a)/2.",
    source="Hulten, Spencer and Domingos, KDD 2001, in the form of MOA's HyperplaneGenerator; sizes as "
    "docs/algorithms/streams.md#hyperplane_rotating, the first senses +1 as in MOA, "
    "the length chosen here (River's noise and sigma are 0.01 less "
    "than asked)",
    options=(
        option("rows", 90_000, "integer", low=1, meaning="length"),
        option("d", 10, "integer", low=1, high=100_000, meaning="number of features"),
        option("k", 2, "integer", low=0, high=100_000, meaning="number of weights that move, the first ones"),
        option("mag", 0.001, "number", low=0, meaning="how far each of them moves per row"),
        option("sigma", 0.1, "number", low=0, high=1, meaning="probability per row that one reverses its direction"),
        option("noise", 0.05, "number", low=0, high=1, meaning="share of labels that are flipped"),
    ),
    shape=_shape,
    memory=lambda values: values["d"] + values["k"],
    fill=_fill,
    sample=sample,
    label_noise="noise",
)
