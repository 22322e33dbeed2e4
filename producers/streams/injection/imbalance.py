"""Class imbalance: rows are left out until one class has the requested share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.injection.injection_kind import (
    CLASSES,
    WINDOW,
    InjectionKind,
    InjectionRequest,
    Words,
    class_count,
    window_of,
)
from driftway.producers.streams.injection.thinned import Thinned
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Array, Block, Stream
from driftway.worker.errors import UsageFailure

FADING = 0.999
"""The class's own share, which may drift too, is estimated from about the last 1 / (1 - FADING) = 1000 rows."""


@kernel
def thin_classes(
    rng: NDArray[np.uint64],
    memory: Array,
    chosen: float,
    share: float,
    fading: float,
    inside: NDArray[np.bool_],
    y: Array,
    stays: NDArray[np.bool_],
) -> None:
    """Decide which rows to keep, with one draw per row.

    Shapes: rng u8[4], memory f8[2] (faded counts of the class and of the others, kept between blocks), inside bool[n],
    y f8[n], stays bool[n]. With p the class's share so far: for s > p the others are kept with probability
    p (1 - s) / ((1 - p) s), for s < p the class's rows with s (1 - p) / ((1 - s) p). Rows without label are kept.
    """
    for i in range(y.shape[0]):
        draw = uniform(rng)
        stays[i] = True
        if np.isnan(y[i]):
            continue
        ours = y[i] == chosen
        p = memory[0] / (memory[0] + memory[1])
        if inside[i] and ours and share < p:
            stays[i] = draw < share * (1.0 - p) / ((1.0 - share) * p)
        elif inside[i] and not ours and share > p:
            stays[i] = draw < p * (1.0 - share) / ((1.0 - p) * share)
        memory[0] = fading * memory[0] + (1.0 if ours else 0.0)
        memory[1] = fading * memory[1] + (0.0 if ours else 1.0)


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    values = request.values
    window = window_of("imbalance", values)
    n_classes = class_count(stream, request, "imbalance")
    if values["class"] >= n_classes and (stream.labels is not None or values["classes"]):
        raise UsageFailure(f"imbalance: class must be an index of 0 to {n_classes - 1}, got {values['class']}")

    def keep(rng: Words, memory: Array, start: int, block: Block) -> NDArray[np.bool_]:
        stays = np.empty(len(block.y), np.bool_)
        inside = window.inside(start, len(stays))
        thin_classes(rng, memory, float(values["class"]), values["share"], FADING, inside, block.y, stays)
        return stays

    return Thinned(stream, request, window, keep, np.ones(2))


KIND = InjectionKind(
    name="imbalance",
    summary="Rows are left out at random so that class `class` makes up `share` of the remaining ones: rows of the "
    "other classes to make it more frequent, its own rows to make it rarer. P(x | y) is unchanged.",
    source="under-sampling; prior shift as in Moreno-Torres et al., A unifying view on dataset shift in "
    "classification, Pattern Recognition 45, 2012",
    options=(
        option("share", None, "number", low=0, high=1, meaning="share of the class among the rows with a label"),
        option("class", 1, "integer", low=0, high=10_000, meaning="class index"),
        *WINDOW,
        CLASSES,
    ),
    required=("share",),
    build=_build,
)
