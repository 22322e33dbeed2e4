"""Recurring drift: two streams take turns, each continuing where it stopped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.producers.streams.injection.injection_kind import END, MAX_ROWS, InjectionKind, InjectionRequest, Words
from driftway.producers.streams.injection.switched import Switched
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Change, Stream


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    period: int = request.values["period"]

    def choose(_: Words, start: int, n: int) -> NDArray[np.bool_]:
        turn: NDArray[np.bool_] = np.arange(start, start + n) // period % 2 == 1
        return turn

    def own(rows: int) -> list[Change]:
        return [Change("recurring", at, at, at) for at in range(period, rows, period)]

    return Switched(stream, request, choose, END, own)


KIND = InjectionKind(
    name="recurring",
    summary="`period` rows of the stream, `period` rows of the second, and so on; the ids of the concepts recur.",
    source="Gama et al., A survey on concept drift adaptation, ACM Computing Surveys 46(4), 2014, figure 2",
    options=(option("period", None, "integer", low=1, high=MAX_ROWS, meaning="rows per turn"),),
    required=("period",),
    build=_build,
    second=True,
)
