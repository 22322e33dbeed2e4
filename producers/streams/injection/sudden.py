"""Sudden drift: from a row on, the rows of a second stream."""

from __future__ import annotations

import numpy as np

from driftway.producers.streams.injection.injection_kind import MAX_ROWS, InjectionKind, InjectionRequest
from driftway.producers.streams.injection.switched import Switched
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Change, Stream


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    at: int = request.values["at"]
    own = (Change("sudden", at, at, at),)
    return Switched(stream, request, lambda _, start, n: np.arange(start, start + n) >= at, at, lambda _rows: own)


KIND = InjectionKind(
    name="sudden",
    summary="Row `at` and all later ones come from the second stream, starting at its first row.",
    source="Gama et al., A survey on concept drift adaptation, ACM Computing Surveys 46(4), 2014, figure 2",
    options=(option("at", None, "integer", low=1, high=MAX_ROWS, meaning="first row of the second stream"),),
    required=("at",),
    build=_build,
    second=True,
)
