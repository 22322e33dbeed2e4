"""STAGGER concepts: three nominal features, three rules on them, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import randint, uniform
from driftway.producers.streams.generator import GeneratorSpec, sample_stage
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array

SMALL, RED, GREEN, CIRCLE = 0.0, 0.0, 2.0, 0.0
"""Codes: size small 0, medium 1, large 2; colour red 0, blue 1, green 2; shape circle 0, square 1, triangle 2."""


@kernel
def stagger_class(concept: int, size: float, colour: float, shape: float) -> float:
    """Class of an object under concept 1, 2 or 3 of Schlimmer and Granger."""
    if concept == 1:
        return 1.0 if size == SMALL and colour == RED else 0.0
    if concept == 2:
        return 1.0 if colour == GREEN or shape == CIRCLE else 0.0
    return 1.0 if size != SMALL else 0.0


@kernel
def fill_stagger(
    rng: NDArray[np.uint64],
    concepts: NDArray[np.int64],
    noise: float,
    balance: int,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; draw order per try: size, colour, shape; then the noise.

    Shapes: rng u8[4], concepts i8[stages], X f8[n, 3], y f8[n]. With `balance` rows are redrawn until their
    classes are 1, 0, 1, ... in turn. The noise is drawn even if it is 0.
    """
    for i in range(X.shape[0]):
        t = start + i
        concept = concepts[concepts.shape[0] * t // length]
        while True:
            for j in range(3):
                X[i, j] = float(randint(rng, 3))
            label = stagger_class(concept, X[i, 0], X[i, 1], X[i, 2])
            if balance == 0 or label != float(t % 2):
                break
        y[i] = 1.0 - label if uniform(rng) < noise else label


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    concepts = np.array(values["concepts"])
    fill_stagger(rng, concepts, values["noise"], values["balance"], values["rows"], start, X, y)


RECIPE = GeneratorSpec(
    name="stagger",
    summary="STAGGER: class 1 iff small and red (1), green or a circle (2), medium or large (3); one concept per "
    "stage. Features are codes: size small 0, medium 1, large 2; colour red 0, blue 1, green 2; shape circle 0, "
    "square 1, triangle 2.",
    source="Schlimmer and Granger, Incremental Learning from Noisy Data, Machine Learning 1, 1986; codes and balance "
    "as MOA and River",
    options=(
        option("rows", 30_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("concepts", (1, 2, 3), "integers", low=1, high=3, meaning="concept number, one per stage"),
        option("noise", 0.0, "number", low=0, high=1, meaning="share of labels that are flipped; 0 in the paper"),
        option("balance", 0, "integer", low=0, high=1, meaning="1: the same number of rows of both classes"),
    ),
    shape=lambda values: (3, len(values["concepts"])),
    memory=lambda _: 0,
    feature_names=("size", "colour", "shape"),
    fill=_fill,
    concepts=lambda values: values["concepts"],
    sample=sample_stage(_fill, "concepts"),
    label_noise="noise",
)
