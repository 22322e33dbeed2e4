"""Missing features: a share of the values is not there.

They are NaN in a block, null in JSON, NaN in packed. The worker and `driftway evaluate` set a row aside that misses any
feature, so of c columns with holes a share of 1 - (1 - share)^c of the rows is rejected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.jit import kernel
from learners.random import uniform
from producers.streams.injection.altered import Altered
from producers.streams.injection.kind import WINDOW, Kind, Request, Words, window_of
from producers.streams.options import Option
from producers.streams.stream import Array, Block, Stream


@kernel
def make_holes(
    rng: NDArray[np.uint64], share: float, columns: NDArray[np.int64], inside: NDArray[np.bool_], X: Array
) -> None:
    """Make each value of the columns NaN with probability `share`.

    Shapes: rng u8[4], columns i8[c], inside bool[n], X f8[n, d]. One draw per row and column, inside the window or not.
    """
    for i in range(X.shape[0]):
        for j in columns:
            if uniform(rng) < share and inside[i]:
                X[i, j] = np.nan


def _build(stream: Stream, request: Request) -> Stream:
    window = window_of("missing", request.values)
    share: float = request.values["share"]
    columns = np.array(request.columns, np.int64)

    def alter(rng: Words, start: int, block: Block) -> Block:
        X = block.X.copy(order="C")
        make_holes(rng, share, columns, window.inside(start, len(X)), X)
        return Block(X, block.y)

    return Altered(stream, request, window, alter)


KIND = Kind(
    name="missing",
    summary="Every value of the columns is missing with probability `share`, whatever the row says; a worker rejects "
    "rows with a missing feature.",
    source="missing completely at random: Rubin, Inference and missing data, Biometrika 63, 1976",
    options=(Option("share", None, "number", low=0, high=1, meaning="of the values"), *WINDOW),
    required=("share",),
    build=_build,
    columns=True,
)
