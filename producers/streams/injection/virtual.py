"""Virtual drift: the distribution of the features changes but the labelling rule does not, in one of two ways.

``tilt`` selects rows: those with large features (tilt > 0) or small ones (tilt < 0) become more likely, by a rule that
depends on the features alone. P(y | x) is then unchanged, whatever the labelling rule is, and P(x) is not. The other
rows, about half of all, are left out.

``shift`` and ``scale`` displace features after labelling, like a sensor out of calibration: the label follows the true
features, the learner sees displaced ones, so the best rule *for the observed features* moves with them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.injection.altered import Altered
from driftway.producers.streams.injection.injection_kind import (
    END,
    MAX_ROWS,
    InjectionKind,
    InjectionRequest,
    Words,
    window_of,
)
from driftway.producers.streams.injection.thinned import Thinned
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Array, Block, Stream
from driftway.worker.errors import UsageFailure


@kernel
def choose_tilted(
    rng: NDArray[np.uint64],
    memory: Array,
    tilt: float,
    at: int,
    until: int,
    start: int,
    columns: NDArray[np.int64],
    X: Array,
    stays: NDArray[np.bool_],
) -> None:
    """Keep a row with probability 1 / (1 + exp(-tilt z)), z = sum of its columns' z-scores / sqrt(their number).

    Shapes: rng u8[4], memory f8[3, c] (count, mean, sum of squares about the mean of every column in the rows before
    `at`, by Welford's recursion; kept between blocks), columns i8[c], X f8[n, d], stays bool[n]. A missing value and a
    value of a constant column have z-score 0. One draw per row, inside the window or not.
    """
    c = columns.shape[0]
    for i in range(X.shape[0]):
        draw = uniform(rng)
        t = start + i
        stays[i] = True
        if t < at:
            for k in range(c):
                x = X[i, columns[k]]
                if math.isfinite(x):
                    memory[0, k] += 1.0
                    away = x - memory[1, k]
                    memory[1, k] += away / memory[0, k]
                    memory[2, k] += away * (x - memory[1, k])
        elif t < until:
            z = 0.0
            for k in range(c):
                x = X[i, columns[k]]
                if math.isfinite(x) and memory[2, k] > 0.0:
                    z += (x - memory[1, k]) / math.sqrt(memory[2, k] / memory[0, k])
            stays[i] = draw < 1.0 / (1.0 + exp(-tilt * z / math.sqrt(c)))


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    values = request.values
    tilt, shift, scale = values["tilt"], values["shift"], values["scale"]
    displaces = shift != 0.0 or scale != 1.0
    if (tilt != 0.0) == displaces:
        raise UsageFailure("virtual needs either tilt (rows are chosen) or shift and scale (features are displaced)")
    columns = np.array(request.columns, np.int64)
    if displaces:
        window = window_of("virtual", values, "displaced", "at")

        def alter(_: Words, start: int, block: Block) -> Block:
            inside = np.flatnonzero(window.inside(start, len(block.y)))
            if not len(inside):
                return block
            X = block.X.copy(order="C")
            cells = np.ix_(inside, columns)
            X[cells] = scale * X[cells] + shift
            return Block(X, block.y)

        return Altered(stream, request, window, alter)
    window = window_of("virtual", values, "tilted", "at")

    def keep(rng: Words, memory: Array, start: int, block: Block) -> NDArray[np.bool_]:
        stays = np.empty(len(block.y), np.bool_)
        state = memory.reshape(3, -1)
        choose_tilted(rng, state, tilt, window.start, window.end, start, columns, block.X, stays)
        return stays

    return Thinned(stream, request, window, keep, np.zeros(3 * len(columns)))


KIND = InjectionKind(
    name="virtual",
    summary="Inside the window P(x) changes. tilt: rows are selected by their features, P(y | x) is unchanged. shift, "
    "scale: features are displaced after labelling.",
    source="Gama et al., A survey on concept drift adaptation, ACM Computing Surveys 46(4), 2014, section 2.1",
    options=(
        option("at", None, "integer", low=1, high=MAX_ROWS, meaning="first affected row"),
        option("until", END, "integer", low=1, high=MAX_ROWS, meaning="first row after it; default: no end"),
        option("tilt", 0.0, "number", low=-100, high=100, meaning="log-odds of keeping a row, per standard deviation"),
        option("shift", 0.0, "number", meaning="added to the columns' values"),
        option("scale", 1.0, "number", meaning="factor of the columns' values, before shift"),
    ),
    required=("at",),
    build=_build,
    columns=True,
)
