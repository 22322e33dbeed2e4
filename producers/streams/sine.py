"""SINE1 and SINE2: points of the unit square below or above a curve, and both reversed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.trigonometric import sin
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.generator import GeneratorSpec, sample_stage
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array


@kernel
def sine_class(function: int, x1: float, x2: float) -> float:
    """Class of a point: functions 1 and 2 are SINE1 and its reverse, 3 and 4 SINE2 and its reverse."""
    curve = sin(x1) if function <= 2 else 0.5 + 0.3 * sin(3.0 * math.pi * x1)
    below = x2 < curve
    return 0.0 if below == (function % 2 == 1) else 1.0


@kernel
def fill_sine(
    rng: NDArray[np.uint64],
    functions: NDArray[np.int64],
    noise: float,
    balance: int,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; draw order per row: x1, x2 until accepted, the irrelevant ones, the noise.

    Shapes: rng u8[4], functions i8[stages], X f8[n, 2 + irrelevant], y f8[n]. With `balance` x1 and x2 are redrawn
    until the classes are 1, 0, 1, ... in turn. The noise is drawn even if it is 0.
    """
    for i in range(X.shape[0]):
        t = start + i
        function = functions[functions.shape[0] * t // length]
        while True:
            X[i, 0] = uniform(rng)
            X[i, 1] = uniform(rng)
            label = sine_class(function, X[i, 0], X[i, 1])
            if balance == 0 or label != float(t % 2):
                break
        for j in range(2, X.shape[1]):
            X[i, j] = uniform(rng)
        y[i] = 1.0 - label if uniform(rng) < noise else label


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    functions = np.array(values["functions"])
    fill_sine(rng, functions, values["noise"], values["balance"], values["rows"], start, X, y)


RECIPE = GeneratorSpec(
    name="sine",
    summary="SINE: x uniform in [0, 1]^d; class 0 iff x2 < sin(x1) (function 1), the reverse (2), "
    "x2 < 0.5 + 0.3 sin(3 pi x1) (3), the reverse (4); one function per stage.",
    source="Gama, Medas, Castillo and Rodrigues, Learning with Drift Detection, SBIA 2004; class 0 = positive, "
    "irrelevant features and balance as MOA (River's functions 0 to 3 have x1 and x2 exchanged and class 1 = positive)",
    options=(
        option("rows", 40_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("functions", (1, 2, 3, 4), "integers", low=1, high=4, meaning="function number, one per stage"),
        option("irrelevant", 2, "integer", low=0, high=10_000, meaning="irrelevant features; 2 in the paper"),
        option("noise", 0.0, "number", low=0, high=1, meaning="share of labels that are flipped; 0 in the paper"),
        option("balance", 0, "integer", low=0, high=1, meaning="1: the same number of rows of both classes"),
    ),
    shape=lambda values: (2 + values["irrelevant"], len(values["functions"])),
    memory=lambda _: 0,
    fill=_fill,
    concepts=lambda values: values["functions"],
    sample=sample_stage(_fill, "functions"),
    label_noise="noise",
)
