"""MIXED: two boolean and two numeric features; two of three conditions make a class, later reversed."""

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
def mixed_class(function: int, v: float, w: float, x: float, y: float) -> float:
    """Class of a row: function 1 gives 0 iff two of v, w and y < 0.5 + 0.3 sin(3 pi x) hold; 2 is the reverse."""
    held = v + w
    if y < 0.5 + 0.3 * sin(3.0 * math.pi * x):
        held += 1.0
    return 0.0 if (held >= 2.0) == (function == 1) else 1.0


@kernel
def fill_mixed(
    rng: NDArray[np.uint64],
    functions: NDArray[np.int64],
    noise: float,
    balance: int,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; draw order per try: v, w, x, y; then the noise.

    Shapes: rng u8[4], functions i8[stages], X f8[n, 4], y f8[n]. With `balance` rows are redrawn until their
    classes are 1, 0, 1, ... in turn. The noise is drawn even if it is 0.
    """
    for i in range(X.shape[0]):
        t = start + i
        function = functions[functions.shape[0] * t // length]
        while True:
            for j in range(4):
                drawn = uniform(rng)
                X[i, j] = (1.0 if drawn >= 0.5 else 0.0) if j < 2 else drawn
            label = mixed_class(function, X[i, 0], X[i, 1], X[i, 2], X[i, 3])
            if balance == 0 or label != float(t % 2):
                break
        y[i] = 1.0 - label if uniform(rng) < noise else label


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    functions = np.array(values["functions"])
    fill_mixed(rng, functions, values["noise"], values["balance"], values["rows"], start, X, y)


RECIPE = GeneratorSpec(
    name="mixed",
    summary="MIXED: x1, x2 are 0 or 1, x3, x4 uniform in [0, 1]; class 0 iff two of x1 = 1, x2 = 1 and "
    "x4 < 0.5 + 0.3 sin(3 pi x3) hold (function 1), the reverse (2); one function per stage.",
    source="Gama, Medas, Castillo and Rodrigues, Learning with Drift Detection, SBIA 2004; class 0 = positive and "
    "balance as MOA and River",
    options=(
        option("rows", 40_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("functions", (1, 2, 1, 2), "integers", low=1, high=2, meaning="function number, one per stage"),
        option("noise", 0.0, "number", low=0, high=1, meaning="share of labels that are flipped; 0 in the paper"),
        option("balance", 0, "integer", low=0, high=1, meaning="1: the same number of rows of both classes"),
    ),
    shape=lambda values: (4, len(values["functions"])),
    memory=lambda _: 0,
    fill=_fill,
    concepts=lambda values: values["functions"],
    sample=sample_stage(_fill, "functions"),
    label_noise="noise",
)
