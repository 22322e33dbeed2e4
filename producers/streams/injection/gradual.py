"""Gradual drift: rows of a second stream become more likely along a sigmoid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.random import uniform
from driftway.producers.streams.injection.injection_kind import MAX_ROWS, InjectionKind, InjectionRequest, Words
from driftway.producers.streams.injection.switched import Switched
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Change, Stream

SURE_WIDTHS = 10
"""Widths after `at` from which the sigmoid is 1 to the last bit: exp(-40) < 2^-53, and a draw is below 1."""


@kernel
def choose_gradually(rng: NDArray[np.uint64], at: int, width: int, start: int, late: NDArray[np.bool_]) -> None:
    """Choose the stream of each row, with one uniform draw per row.

    Shapes: rng u8[4], late bool[n]. P(second) = 1 / (1 + exp(-4 (t - at) / width)): 1/2 in row `at`, and the tangent
    there rises from 0 to 1 within `width` rows.
    """
    for i in range(late.shape[0]):
        late[i] = uniform(rng) < 1.0 / (1.0 + exp(-4.0 * (start + i - at) / width))


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    at, width = request.values["at"], request.values["width"]
    own = (Change("gradual", at, max(0, at - width // 2), at + (width + 1) // 2),)

    def choose(rng: Words, start: int, n: int) -> NDArray[np.bool_]:
        late = np.empty(n, np.bool_)
        choose_gradually(rng, at, width, start, late)
        return late

    return Switched(stream, request, choose, at + SURE_WIDTHS * width, lambda _rows: own)


KIND = InjectionKind(
    name="gradual",
    summary="Row t comes from the second stream with probability 1 / (1 + exp(-4 (t - at) / width)), else from the "
    "first.",
    source="Bifet et al., New ensemble methods for evolving data streams, KDD 2009, section 2.1; MOA's and River's "
    "ConceptDriftStream (these count rows from 1)",
    options=(
        option("at", None, "integer", low=1, high=MAX_ROWS, meaning="row where both are equally likely"),
        option("width", 1000, "integer", low=1, high=MAX_ROWS, meaning="rows over which most of the change happens"),
    ),
    required=("at",),
    build=_build,
    second=True,
)
