"""Missing features: a share of the values is missing.

Unless `fill` gives a replacement, they are NaN in a block, null in JSON, NaN in packed. The worker and `driftway
evaluate` reject a row with any missing feature, so with c affected columns a share of 1 - (1 - share)^c of the rows is
rejected. With `fill`, as with constant imputation, every row is learned from.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.injection.altered import Altered
from driftway.producers.streams.injection.injection_kind import (
    WINDOW,
    InjectionKind,
    InjectionRequest,
    Words,
    window_of,
)
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Array, Block, Stream


@kernel
def make_holes(
    rng: NDArray[np.uint64], share: float, fill: float, columns: NDArray[np.int64], inside: NDArray[np.bool_], X: Array
) -> None:
    """Replace each value of the columns by `fill` with probability `share`.

    Shapes: rng u8[4], columns i8[c], inside bool[n], X f8[n, d]. One draw per row and column, inside the window or not.
    """
    for i in range(X.shape[0]):
        for j in columns:
            if uniform(rng) < share and inside[i]:
                X[i, j] = fill


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    window = window_of("missing", request.values)
    share, fill = request.values["share"], request.values["fill"]
    hole = np.nan if fill is None else fill
    columns = np.array(request.columns, np.int64)

    def alter(rng: Words, start: int, block: Block) -> Block:
        X = block.X.copy(order="C")
        make_holes(rng, share, hole, columns, window.inside(start, len(X)), X)
        return Block(X, block.y)

    return Altered(stream, request, window, alter)


KIND = InjectionKind(
    name="missing",
    summary="Every value of the columns is missing with probability `share`, independently of the row. A worker "
    "rejects rows with a missing feature; with fill=0, or another replacement, it learns from them.",
    source="missing completely at random: Rubin, Inference and missing data, Biometrika 63, 1976",
    options=(
        option("share", None, "number", low=0, high=1, meaning="share of the values"),
        option("fill", None, "number", meaning="replacement; default: none, a null or NaN"),
        *WINDOW,
    ),
    required=("share",),
    build=_build,
    columns=True,
)
