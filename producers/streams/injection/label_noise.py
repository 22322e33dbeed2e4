"""Label noise: a share of the labels is changed to another class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import randint, uniform
from driftway.producers.streams.injection.altered import Altered
from driftway.producers.streams.injection.injection_kind import (
    CLASSES,
    WINDOW,
    InjectionKind,
    InjectionRequest,
    Words,
    check_classes,
    class_count,
    window_of,
)
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Array, Block, Stream


@kernel
def add_noise(rng: NDArray[np.uint64], share: float, n_classes: int, inside: NDArray[np.bool_], y: Array) -> None:
    """Give a share of the labels another class, each of the others equally likely.

    Shapes: rng u8[4], inside bool[n], y f8[n]. Two draws per row, needed or not, so that a larger share only
    changes more labels, and rows outside the window do not shift the draws.
    """
    for i in range(y.shape[0]):
        hit = uniform(rng) < share
        other = float(randint(rng, n_classes - 1))
        if hit and inside[i] and not np.isnan(y[i]):
            y[i] = other if other < y[i] else other + 1.0


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    window = window_of("label_noise", request.values)
    n_classes = max(2, class_count(stream, request, "label_noise"))
    share: float = request.values["share"]

    def alter(rng: Words, start: int, block: Block) -> Block:
        check_classes("label_noise", block.y, start, n_classes)
        y = block.y.copy()
        add_noise(rng, share, n_classes, window.inside(start, len(y)), y)
        return Block(block.X, y)

    return Altered(stream, request, window, alter)


KIND = InjectionKind(
    name="label_noise",
    summary="Every label is wrong with probability `share`; wrong labels are uniform over the other classes.",
    source="Angluin and Laird, Learning from noisy examples, Machine Learning 2, 1988: random classification noise",
    options=(option("share", None, "number", low=0, high=1, meaning="share of the labels"), *WINDOW, CLASSES),
    required=("share",),
    build=_build,
)
