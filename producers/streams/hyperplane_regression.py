"""The mean of three neighbouring features of ten, different ones in each stage, as a real target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array, Task

FEATURES = 10
FIRST_FEATURES = (0, 1, 3, 6)
"""Per stage: the first of the three features that count, counted from 0."""


@kernel
def draw_row(rng: NDArray[np.uint64], first: int, noise: float, threshold: bool, X: Array, i: int) -> float:
    """Write row i and return its target; draw order: x1..x10, then the noise.

    Shapes: rng u8[4], X f8[n, 10]. The noise is drawn even if it is 0, so that streams that differ only in
    noise have the same features. docs/algorithms/streams.md#hyperplane_regression.
    """
    for j in range(FEATURES):
        X[i, j] = uniform(rng)
    target: float = (X[i, first] + X[i, first + 1] + X[i, first + 2]) / 3.0 + noise * (2.0 * uniform(rng) - 1.0)
    if threshold:
        return 1.0 if target > 0.5 else 0.0
    return target


@kernel
def fill_regression(
    rng: NDArray[np.uint64],
    first: NDArray[np.int64],
    noise: float,
    threshold: bool,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, .... Shapes: rng u8[4], first i8[stages], X f8[n, 10], y f8[n]."""
    for i in range(X.shape[0]):
        stage = first.shape[0] * (start + i) // length
        y[i] = draw_row(rng, first[stage], noise, threshold, X, i)


@kernel
def sample_regression(rng: NDArray[np.uint64], first: int, noise: float, threshold: bool, X: Array, y: Array) -> None:
    """Write rows of one concept. Shapes: rng u8[4], X f8[n, 10], y f8[n]."""
    for i in range(X.shape[0]):
        y[i] = draw_row(rng, first, noise, threshold, X, i)


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    first, threshold = np.array(FIRST_FEATURES), values["threshold"] == 1
    fill_regression(rng, first, values["noise"], threshold, values["rows"], start, X, y)


def _sample(values: Values, rng: NDArray[np.uint64], _memory: Array, row: int, X: Array, y: Array) -> None:
    first = FIRST_FEATURES[len(FIRST_FEATURES) * row // values["rows"]]
    sample_regression(rng, first, values["noise"], values["threshold"] == 1, X, y)


def _task(values: Values) -> Task:
    return "classification" if values["threshold"] else "regression"


RECIPE = GeneratorSpec(
    name="hyperplane_regression",
    summary="x uniform in [0, 1]^10, y = (x_i + x_i+1 + x_i+2) / 3 plus noise, i = 1, 2, 4, 7 in turn.",
    source="Kolter and Maloof, ICML 2005, as in the supplement of Zhao and Zhou, Distribution-Free One-Pass "
    "Learning; real target and noise as docs/algorithms/streams.md#hyperplane_regression",
    options=(
        option("rows", 2000, "integer", low=1, meaning="number of rows, divided equally among the 4 stages"),
        option("noise", 0.1, "number", low=0, meaning="half the width of the uniform noise on the target"),
        option("threshold", 0, "integer", low=0, high=1, meaning="1: two classes, class 1 iff the target > 0.5"),
    ),
    shape=lambda _: (FEATURES, len(FIRST_FEATURES)),
    task=_task,
    memory=lambda _: 0,
    fill=_fill,
    sample=_sample,
    label_noise="noise",
)
