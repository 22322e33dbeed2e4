"""The seven segments of a digit's display, some of them inverted, among irrelevant attributes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import randint, uniform
from driftway.producers.streams.generator import GeneratorSpec, sample_stage
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array
from driftway.worker.errors import UsageFailure

SEGMENTS = 7
LIT = np.array(
    [
        [float(bit) for bit in digit]
        for digit in (
            "1110111",
            "0010010",
            "1011101",
            "1011011",
            "0111010",
            "1101011",
            "1101111",
            "1010010",
            "1111111",
            "1111011",
        )
    ]
)
"""Digit -> its segments: top, upper left, upper right, middle, lower left, lower right, bottom."""


@kernel
def fill_led(
    rng: NDArray[np.uint64],
    lit: Array,
    swapped: NDArray[np.int64],
    noise: float,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; draw order per row: the digit, a noise per segment, the irrelevant attributes.

    Shapes: rng u8[4], lit f8[10, 7], swapped i8[stages], X f8[n, 7 + irrelevant], y f8[n]. The first `swapped[stage]`
    segments trade places with as many irrelevant attributes. The noise is drawn even if
    it is 0.
    """
    segments = lit.shape[1]
    for i in range(X.shape[0]):
        moved = swapped[swapped.shape[0] * (start + i) // length]
        digit = randint(rng, lit.shape[0])
        for j in range(segments):
            value = lit[digit, j]
            if uniform(rng) < noise:
                value = 1.0 - value
            X[i, j + segments if j < moved else j] = value
        for j in range(segments, X.shape[1]):
            X[i, j - segments if j < segments + moved else j] = 1.0 if uniform(rng) < 0.5 else 0.0
        y[i] = float(digit)


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    fill_led(rng, LIT, np.array(values["swapped"]), values["noise"], values["rows"], start, X, y)


def _shape(values: Values) -> tuple[int, int]:
    irrelevant, most = values["irrelevant"], max(values["swapped"])
    if irrelevant < most:
        raise UsageFailure(
            f"led: swapped={most} needs as many irrelevant attributes to swap with, but irrelevant={irrelevant}"
        )
    return SEGMENTS + irrelevant, len(values["swapped"])


RECIPE = GeneratorSpec(
    name="led",
    summary="LED: the digit 0 to 9 that seven segments show, each inverted with probability `noise`, beside irrelevant "
    "bits; in every stage different segments have swapped places with irrelevant bits. 10 classes.",
    source="Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, section 2.6; irrelevant "
    "and swapped attributes as LEDGeneratorDrift of MOA (River's LEDDrift begins to swap at random places, and inverts "
    "0.01 less than asked)",
    options=(
        option("rows", 40_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("noise", 0.1, "number", low=0, high=1, meaning="share of segments that are inverted"),
        option(
            "irrelevant", 17, "integer", low=0, high=10_000, meaning="number of attributes that are randomly 0 or 1"
        ),
        option(
            "swapped",
            (1, 3, 5, 7),
            "integers",
            low=0,
            high=SEGMENTS,
            meaning="number of first segments swapped with irrelevant attributes, one number per stage",
        ),
    ),
    shape=_shape,
    memory=lambda _: 0,
    classes=lambda _: len(LIT),
    fill=_fill,
    concepts=lambda values: values["swapped"],
    sample=sample_stage(_fill, "swapped"),
)
