"""SEA concepts: the sum of two of three features is compared with a threshold that jumps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.generator import GeneratorSpec, sample_stage
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array


@kernel
def fill_sea(
    rng: NDArray[np.uint64],
    thresholds: Array,
    noise: float,
    length: int,
    start: int,
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + 1, ...; draw order per row: x1, x2, x3, then the noise.

    Shapes: rng u8[4], thresholds f8[stages], X f8[n, 3], y f8[n]. The noise is drawn even if it is 0, so that streams
    that differ only in noise have the same features. docs/algorithms/streams.md#sea.
    """
    for i in range(X.shape[0]):
        threshold = thresholds[thresholds.shape[0] * (start + i) // length]
        for j in range(3):
            X[i, j] = 10.0 * uniform(rng)
        label = 1.0 if X[i, 0] + X[i, 1] <= threshold else 0.0
        y[i] = 1.0 - label if uniform(rng) < noise else label


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    fill_sea(rng, np.array(values["thresholds"]), values["noise"], values["rows"], start, X, y)


RECIPE = GeneratorSpec(
    name="sea",
    summary="SEA: x uniform in [0, 10]^3, class 1 iff x1 + x2 <= threshold; one threshold per stage.",
    source="Street and Kim, A streaming ensemble algorithm (SEA) for large-scale classification, KDD 2001, "
    "section 4.2; order of thresholds and noise as docs/algorithms/streams.md#sea; "
    "MOA and River call this class 1 class 0",
    options=(
        option("rows", 50_000, "integer", low=1, meaning="number of rows, divided equally among the stages"),
        option("thresholds", (8.0, 9.0, 7.0, 9.5), "numbers", meaning="threshold on x1 + x2, one per stage"),
        option("noise", 0.1, "number", low=0, high=1, meaning="share of labels that are flipped"),
    ),
    shape=lambda values: (3, len(values["thresholds"])),
    memory=lambda _: 0,
    fill=_fill,
    concepts=lambda values: values["thresholds"],
    sample=sample_stage(_fill, "thresholds"),
    label_noise="noise",
)
