"""Two classes, each a mixture of Gaussians in the plane, whose parameters drift or switch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.random import normal, randint, uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array

LEAST_SD, MAX_SD = 0.1, 0.3
MAX_REJECTED = 10_000
"""Rows rejected in succession before new parameters are drawn, because the classes may coincide."""


@kernel
def draw_parameters(rng: NDArray[np.uint64], mixture: Array) -> None:
    """Draw every component anew, class 0 first: two means of U[-1, 1], then a deviation of U[0.1, 0.3].

    Shapes: rng u8[4], mixture f8[2, components, 3].
    """
    for label in range(2):
        for k in range(mixture.shape[1]):
            for j in range(2):
                mixture[label, k, j] = 2.0 * uniform(rng) - 1.0
            mixture[label, k, 2] = LEAST_SD + (MAX_SD - LEAST_SD) * uniform(rng)


@kernel
def move_parameters(rng: NDArray[np.uint64], step: float, mixture: Array) -> None:
    """Move every component a little: means by step N(0, I), reflected into [-1, 1]; ln sd by step/2 N(0, 1), clipped.

    Shapes: rng u8[4], mixture f8[2, components, 3].
    """
    for label in range(2):
        for k in range(mixture.shape[1]):
            for j in range(2):
                mean = mixture[label, k, j] + step * normal(rng)
                while not -1.0 <= mean <= 1.0:
                    mean = math.copysign(2.0, mean) - mean
                mixture[label, k, j] = mean
            deviation = mixture[label, k, 2] * exp(0.5 * step * normal(rng))
            mixture[label, k, 2] = min(MAX_SD, max(LEAST_SD, deviation))


@kernel
def log_density(part: Array, x: Array) -> float:
    """Logarithm of a mixture's density at x, without the factor that both classes share.

    Shapes: part f8[components, 3], x f8[2]. Relative to the largest term: far from every mean all would underflow.
    """
    largest = -math.inf
    for again in range(2):
        total = 0.0
        for k in range(part.shape[0]):
            deviation = part[k, 2]
            squared = (x[0] - part[k, 0]) ** 2 + (x[1] - part[k, 1]) ** 2
            term = -2.0 * log(deviation) - squared / (2.0 * deviation * deviation)
            if again == 0:
                largest = max(largest, term)
            else:
                total += exp(term - largest)
    return largest + log(total)


@kernel
def draw_row(rng: NDArray[np.uint64], mixture: Array, delta: float, X: Array, i: int) -> float:
    """Write row i and return its label, or -1 if `MAX_REJECTED` tries were rejected.

    Shapes: rng u8[4], mixture f8[2, components, 3], X f8[n, 2]. Draw order per try: class, component, x1, x2. A try
    is accepted if the log ratio of the true densities favours its class by more than delta.
    """
    for _ in range(MAX_REJECTED):
        label = 1 if uniform(rng) < 0.5 else 0
        part = mixture[label, randint(rng, mixture.shape[1])]
        for j in range(2):
            X[i, j] = part[j] + part[2] * normal(rng)
        if log_density(mixture[label], X[i]) - log_density(mixture[1 - label], X[i]) > delta:
            return float(label)
    return -1.0


@kernel
def fill_mixture(
    rng: NDArray[np.uint64],
    mixture: Array,
    delta: float,
    step: float,
    every: int,
    stages: int,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; a change of the parameters is drawn before the first row that it affects.

    Shapes: rng u8[4], mixture f8[2, components, 3] (kept between blocks), X f8[n, 2], y f8[n]. The parameters move
    before each row that is a multiple of `every`, and are drawn anew at each of the `stages` and if rows are rejected
    too often. docs/algorithms/streams.md#gaussian_mixture_drift-gaussian_mixture_switch.
    """
    for i in range(X.shape[0]):
        t = start + i
        if t == 0 or stages * t // length != stages * (t - 1) // length:
            draw_parameters(rng, mixture)
        elif t % every == 0:
            move_parameters(rng, step, mixture)
        y[i] = draw_row(rng, mixture, delta, X, i)
        while y[i] < 0.0:
            draw_parameters(rng, mixture)
            y[i] = draw_row(rng, mixture, delta, X, i)


@kernel
def sample_mixture(rng: NDArray[np.uint64], mixture: Array, delta: float, X: Array, y: Array) -> None:
    """Write rows of one concept, which has produced a row before, so that retrying ends.

    Shapes: rng u8[4], mixture f8[2, components, 3], X f8[n, 2], y f8[n].
    """
    for i in range(X.shape[0]):
        y[i] = -1.0
        while y[i] < 0.0:
            y[i] = draw_row(rng, mixture, delta, X, i)


def _fill_drift(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    mixture = memory.reshape(2, -1, 3)
    fill_mixture(rng, mixture, values["delta"], values["step"], values["every"], 1, values["rows"], start, X, y)


def _fill_switch(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    mixture, rows = memory.reshape(2, -1, 3), values["rows"]
    fill_mixture(rng, mixture, values["delta"], 0.0, rows, values["stages"], rows, start, X, y)


def _sample(values: Values, rng: NDArray[np.uint64], memory: Array, _row: int, X: Array, y: Array) -> None:
    sample_mixture(rng, memory.reshape(2, -1, 3), values["delta"], X, y)


ROWS = option("rows", 10_000, "integer", low=1, meaning="length")
SHARED = (
    option("components", 2, "integer", low=1, high=1000, meaning="Gaussians per class, of equal weight"),
    option("delta", 0.5, "number", low=0, high=5, meaning="smallest logarithm of the ratio of the true densities"),
)
SOURCE = (
    "Kivinen, Smola and Williamson, Large Margin Classification for Moving Targets, ALT 2002, section 5; "
    "components, their law and sizes of change as "
    "docs/algorithms/streams.md#gaussian_mixture_drift-gaussian_mixture_switch"
)

DRIFT = GeneratorSpec(
    name="gaussian_mixture_drift",
    summary="One mixture of Gaussians in the plane per class, moving a little every 10 rows; cleanly separable.",
    source=SOURCE,
    options=(
        ROWS,
        *SHARED,
        option("every", 10, "integer", low=1, meaning="rows between two changes"),
        option(
            "step", 0.05, "number", low=0, high=1, meaning="size of a change of the means; ln sd changes by half of it"
        ),
    ),
    shape=lambda _: (2, 1),
    memory=lambda values: 6 * values["components"],
    fill=_fill_drift,
    sample=_sample,
)

SWITCH = GeneratorSpec(
    name="gaussian_mixture_switch",
    summary="One mixture of Gaussians in the plane per class, drawn anew in every stage; cleanly separable.",
    source=SOURCE,
    options=(
        option("rows", 10_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        *SHARED,
        option("stages", 10, "integer", low=1, meaning="number of concepts, one after another"),
    ),
    shape=lambda values: (2, values["stages"]),
    memory=lambda values: 6 * values["components"],
    fill=_fill_switch,
    sample=_sample,
)
